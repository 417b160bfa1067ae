"""A match becomes a case: what it was made of, and what was looked at for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cepheid.algebra import Rule, input_types
from cepheid.capture.cases import (
    CASE_LIMIT,
    by_oracle,
    case_of,
    checked,
    content,
    numbered,
    shift_of,
)
from cepheid.capture.history import History, horizons
from cepheid.capture.mattering import Mattering, horizon, involved, tells_later
from cepheid.errors import SpecError
from cepheid.events import CompositeEvent, Event
from cepheid.rules import Rules
from cepheid.tables.arrow import pa, pc
from cepheid.testing import Case


def capture_match(history: History, id_: str, name: str = "") -> Case:
    """The case of a composite event that was found: what it was made of and what was looked at.

    >>> import cepheid
    >>> from cepheid.testing import format_case
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WHERE [n] WITHIN 1 min", language="sase")
    >>> table = pa.table({"type": ["A", "A", "B"], "ts": [1, 2, 3], "n": [1, 2, 1]})
    >>> history = History.of(rules, table, "s")
    >>> print(format_case(capture_match(history, history.by_number(1, None), "a pair")), end="")
    # a pair
    language: sase
    rule:
      QUERY AB
      EVENT SEQ(A x, B y)
      WHERE [n]
      WITHIN 1 min
    events:
      A@1(n=1)
      B@3(n=1)
    expect:
      AB@[1,3](y_n=1, x_n=1)
    """
    (row,) = history.found.filter(pc.equal(history.found["id"].cast(pa.string()), id_)).to_pylist()
    rule = history.named(row["rule"])
    rules = involved(history.rules.rules, rule)
    match, around = _located(history, rules, row)
    several = len({one.language for one in rules}) > 1
    by_name = {one.name: one for one in rules}
    for chosen in _choices(match, around, by_name, whole=several):
        case = _case_with(history, [rule] if several else rules, chosen, match, name)
        if case is not None:
            return case
    raise SpecError(
        f"match {id_} cannot be found again in at most {CASE_LIMIT} events\n\n"
        "hint: it depends on too much of its history, such as events that earlier matches consumed"
    )


def _located(
    history: History, rules: Sequence[Rule], row: Mapping[str, object]
) -> tuple[CompositeEvent, list[Event]]:
    """The match as an object, found again in as short a stretch as will do, with that stretch."""
    end, made = int(str(row["ts"])), row["events"]
    times = [int(part["ts"]) for part in made] if isinstance(made, list) else []
    oldest = min([end, int(str(row["start"])), *times])
    for back in horizons(rules, end - oldest):
        later = horizon(rules) if any(map(tells_later, rules)) else 0
        until = int(min(end + later, history.end()))
        events = history.stretch(rules, oldest - back, until)
        found = Rules(tuple(rules), history.rules.schema).detect(events, until=until)
        for one in found:
            if one.id == row["id"]:
                return one, [*events, *found]
        if oldest - back <= history.begin():
            break
    raise SpecError(f"match {row['id']} cannot be found again in its own history")


def _choices(
    match: CompositeEvent, around: Sequence[Event], rules: Mapping[str, Rule], *, whole: bool
) -> Iterator[list[Event]]:
    """Sets of events in which the match may be found, the smallest first."""
    yield Mattering(rules, around, whole=whole).of(match)
    yield Mattering(rules, around, keyed=False, whole=whole).of(match)
    own = input_types(rules[match.rule])
    if whole:
        yield [event for event in around if event.type in own and event is not match]
    else:
        yield [event for event in around if not isinstance(event, CompositeEvent)]


def _case_with(
    history: History,
    rules: Sequence[Rule],
    chosen: Sequence[Event],
    match: CompositeEvent,
    name: str,
) -> Case | None:
    """The case of chosen events, if the oracle finds the match in them."""
    if len(chosen) > CASE_LIMIT:
        return None
    shift = shift_of(history, rules, chosen)
    events = numbered(chosen, history.rules.schema, shift)
    wanted = content(match, shift)
    last = match.end - shift
    further = int(min(last + horizon(rules), history.end() - shift))
    for until in dict.fromkeys([None, last, further]):
        found = by_oracle(history, rules, events, until)
        if any(content(one, 0) == wanted for one in found):
            return checked(case_of(history, rules, events, found, until), name, shift)
    return None
