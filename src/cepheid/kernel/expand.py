"""From matches of families to matches of rules: each is written out once per member."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled
from cepheid.kernel.values import Ints, Tags


@compiled
def expand(
    lows: Ints, highs: Ints, members: Ints, times: Ints, rules_out: Ints, times_out: Ints
) -> None:
    """The rule and the time of every match."""
    at = 0
    for match in range(len(lows)):
        for member in range(lows[match], highs[match]):
            rules_out[at] = members[member]
            times_out[at] = times[match]
            at += 1


@compiled
def spread(lows: Ints, highs: Ints, values: Ints | Tags, out: Ints | Tags) -> None:
    """Columns of values, each value as often as its match has members."""
    for column in range(values.shape[0]):
        at = 0
        for match in range(len(lows)):
            value = values[column, match]
            for _ in range(highs[match] - lows[match]):
                out[column, at] = value
                at += 1
