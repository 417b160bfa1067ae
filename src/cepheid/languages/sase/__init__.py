"""SASE: sequences with negation, equivalence tests and a sliding window (EVENT WHERE WITHIN)."""
