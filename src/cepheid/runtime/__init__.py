"""Runtimes hold a kernel and move data to and from it; they add nothing to the meaning of rules."""
