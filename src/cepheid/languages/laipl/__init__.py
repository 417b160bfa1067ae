"""LAIPL: runs of one event type, constraints over several, windows by time and by count (LAIPE)."""
