"""Rules on Spark: events are routed to shards, each shard runs an engine, what it finds comes out.

    events ── encode (read, route) ──▶ shards (order, match) ──▶ generate ──▶ composite events

Nothing in here is imported by `import cepheid`; only `frames`, `stream` and what runs the job
import Spark.
"""
