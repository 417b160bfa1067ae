"""A job of Spark without Spark: the same messages and shards, in this process.

State goes through bytes as it does in Spark: at chance, a shard is forgotten and made again from
its snapshot and its log.
"""

from __future__ import annotations

import random
from collections import defaultdict

from cepheid.rules import Rules
from cepheid.spark import cases
from cepheid.spark.generate import told
from cepheid.spark.history import history
from cepheid.spark.messages import Message
from cepheid.spark.plan import Plans
from cepheid.spark.shard import Shard, packed, restored
from cepheid.testing import Case


def found_in_shards(rules: Rules, case: Case, *, streaming: bool, seed: int) -> cases.Found:
    """What shards find in the events of a case."""
    chance = random.Random(seed)
    plans = Plans({"0": cases._plan(rules, case, streaming).written()})
    batches = cases._batches([(rules, case)], chance, streaming=streaming)
    sent = [list(cases._messages(plans, cases._rows(batch))) for batch in batches]
    found = cases.Found()
    if streaming:
        _stream(plans, sent, chance, found)
    else:
        messages = sorted(
            (message for batch in sent for message in batch), key=lambda m: (m.shard, m.low)
        )
        for _, table in history(plans, messages, None, cases._OUTPUTS):
            cases._add(found, table)
    return found


def _stream(
    plans: Plans, sent: list[list[Message]], chance: random.Random, found: cases.Found
) -> None:
    shards: dict[str, tuple[Shard, bytes, list[bytes]]] = {}
    for batch in sent:
        by_shard: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        for message in batch:
            by_shard[message.shard].append((message.kind, message.payload))
        for address, messages in by_shard.items():
            if address not in shards:
                new = Shard(*plans.of(address))
                shards[address] = (new, new.snapshot(), [])
            shard, snapshot, log = shards[address]
            if chance.random() < 0.5:
                shard = restored(*plans.of(address), snapshot, log)
            outcome = shard.take(messages)
            log = [*log, packed(messages)]
            if chance.random() < 0.3:
                snapshot, log = shard.snapshot(), []
            shards[address] = (shard, snapshot, log)
            for table in told(outcome, shard.plan.form.times, None, cases._OUTPUTS):
                cases._add(found, table)
