"""Benchmarks: how fast the kernel is on the papers' scenarios, every figure with a checked count.

`python -m bench` measures everything and prints a table; docs/benchmarks.md says how to read it.
"""
