"""Cepheid side by side with Esper, Flink, Siddhi and a relational join, on the same events.

`python -m bench.peers` writes the events of every contest once, runs each engine in a process of
its own, compares the answers, and only then the figures. README.md says how the peers' rules were
written.
"""
