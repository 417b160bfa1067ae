"""Changes of rules while a stream runs: rules as rows, taken up at the beginning of a batch.

A change puts rules under a name, in the place of those that the name had before, or removes them.
Every shard takes the same changes in the same order, so that all have the same rules; a change
that cannot be taken is refused by all of them and told by the first, and the stream goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cepheid.errors import CepheidError, EventError, did_you_mean
from cepheid.rules import Rules, load
from cepheid.runtime.engine import Engine
from cepheid.spark import messages
from cepheid.spark.messages import CHANGE, SOONEST, Message, batch_of
from cepheid.spark.plan import EVERY, Group, unfit
from cepheid.tables.arrow import Arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PUT, REMOVE = "put", "remove"
COLUMNS = ("seq", "action", "name", "language", "text")
SPARK_SCHEMA = "seq bigint, action string, name string, language string, text string"
"""The columns of changes; those of one batch are taken in the order of `seq`, then of the names."""


@dataclass
class Units:
    """The rules of an open group by the names under which they were put."""

    names: dict[str, list[str]] = field(default_factory=dict)

    def apply(
        self, payloads: Sequence[bytes], engine: Engine, group: Group
    ) -> Iterator[tuple[str, str]]:
        """Take changes; what comes back are those that were refused, with the reason."""
        found: list[dict[str, Any]] = [json.loads(payload) for payload in payloads]
        for change in sorted(found, key=lambda one: [one["seq"] or 0, str(one["name"])]):
            try:
                self._take(change, engine, group)
            except CepheidError as error:
                yield str(change["name"]), str(error)

    def _take(self, change: Mapping[str, Any], engine: Engine, group: Group) -> None:
        name, action = str(change["name"]), change["action"]
        if action == REMOVE:
            self._remove(name, engine)
        elif action == PUT:
            self._put(name, _loaded(change, engine), engine, group)
        else:
            raise EventError(
                f"action of a change must be {PUT} or {REMOVE}; got {action!r}\n\n"
                f"hint: {did_you_mean(str(action), (PUT, REMOVE)) or PUT}"
            )

    def _remove(self, name: str, engine: Engine) -> None:
        if name not in self.names:
            known = did_you_mean(name, self.names) or "nothing was put under that name"
            raise EventError(f"no rules were put under the name {name}\n\nhint: {known}")
        for rule in self.names.pop(name):
            engine.remove(rule)

    def _put(self, name: str, rules: Rules, engine: Engine, group: Group) -> None:
        before = set(self.names.get(name, ()))
        taken = {rule: unit for unit, own in self.names.items() for rule in own if unit != name}
        for rule in rules:
            if rule.name in taken:
                raise EventError(
                    f"rule {rule.name} of {name} must have a name of its own; "
                    f"there is one in {taken[rule.name] or 'the rules of the start'}"
                )
        kept = [rule for rule in engine.rules if rule.name not in before]
        reason = unfit([*kept, *rules], group.key)
        if reason:
            raise EventError(reason)
        known = {rule.name: rule for rule in engine.rules}
        # What is as it was keeps its state; what is gone or changed begins anew.
        new = tuple(rule for rule in rules if known.get(rule.name) != rule)
        if new:
            engine.replace(Rules(new, rules.schema))
        for gone in before - {rule.name for rule in rules}:
            engine.remove(gone)
        self.names[name] = [rule.name for rule in rules]


def _loaded(change: Mapping[str, Any], engine: Engine) -> Rules:
    text, language = change["text"], change["language"]
    if not text or not language:
        raise EventError("a change that puts rules must have a text and a language")
    return load(str(text), language=str(language), schema=engine.rules.schema, name=change["name"])


def change_messages(df: DataFrame, shards: Sequence[str]) -> DataFrame:
    """Changes as messages to all shards."""
    missing = [name for name in COLUMNS[1:] if name not in df.columns]
    if missing:
        raise EventError(
            f"changes must have the columns {', '.join(COLUMNS[1:])}; {missing[0]} is missing\n\n"
            f"hint: a stream of rows ({SPARK_SCHEMA}); or give the path of a folder of rules"
        )
    if not df.isStreaming:
        raise EventError(
            "changes must be a stream; got a finite table\n\n"
            "hint: load rules that do not change with cepheid.load"
        )
    return df.mapInArrow(_encoding(tuple(shards)), messages.SPARK_SCHEMA)


def _encoding(shards: tuple[str, ...]) -> Callable[[Iterator[Arrow]], Iterator[Arrow]]:
    def encode(batches: Iterator[Arrow]) -> Iterator[Arrow]:
        for batch in batches:
            for row in batch.to_pylist():
                change = json.dumps({name: row.get(name) for name in COLUMNS}).encode()
                yield batch_of(Message(shard, CHANGE, SOONEST, change) for shard in shards)

    return encode


def open_group(rules: Rules, key: str | Mapping[str, str] | None) -> tuple[Rules, dict[str, str]]:
    """The rules of the start and the key that every later rule must go with."""
    fixed = {} if key is None else {EVERY: key} if isinstance(key, str) else dict(key)
    reason = unfit(rules.rules, fixed)
    if reason:
        raise EventError(reason)
    return rules, fixed
