"""Shards without Spark: what is parted over shards gives what the oracle gives for the whole."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import cepheid
from cepheid.errors import EventError, SnapshotError
from cepheid.events import Event
from cepheid.oracle import evaluate
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.runtime.arrival import Heard
from cepheid.runtime.settings import Settings
from cepheid.runtime.tabular import Tabular
from cepheid.spark import history, manifest
from cepheid.spark.encode import Sender
from cepheid.spark.generate import COMPOSITE, late_texts
from cepheid.spark.keys import route_keys
from cepheid.spark.messages import of_heard, of_table
from cepheid.spark.plan import Plan, Plans, plan_rules
from cepheid.spark.route import Router, hashes, newest_of, shard_numbers
from cepheid.spark.shard import Outcome, Shard, packed, restored, unpacked
from cepheid.tables.frames import Frame
from cepheid.tables.table import Table, from_events
from cepheid.tables.times import Times
from cepheid.testing import Case, cases_of, difference, format_cases
from tests.cases import CASES, case_id
from tests.sharding import found_in_shards
from tests.strategies import RULES, streams

FORM = Tabular(Frame.ARROW, Times(Clock.of("us")), loose=True)
RUN = [case for case in CASES if case.error is None]


@pytest.mark.parametrize("case", [case for case in RUN if not case.arrives], ids=case_id)
def test_a_case_over_shards_of_a_finite_table_gives_what_it_expects(case: Case) -> None:
    found = found_in_shards(case.load(), case, streaming=False, seed=1)
    assert not difference(case.expect or (), found.events)


@pytest.mark.parametrize("case", RUN, ids=case_id)
def test_a_case_over_shards_of_a_stream_gives_what_it_expects(case: Case) -> None:
    found = found_in_shards(case.load(), case, streaming=True, seed=1)
    case.check_late(found.late)
    assert not difference(case.expect or (), found.events)


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data(), seed=st.integers(0, 999), streaming=st.booleans())
def test_random_rules_over_shards_find_what_the_oracle_finds(
    language: str, data: st.DataObject, seed: int, streaming: bool
) -> None:
    rule = data.draw(RULES[language])
    events = data.draw(streams(24))
    expected = evaluate([rule], events).events
    case = Case("over shards", language, "", tuple(events))
    found = found_in_shards(Rules((rule,)), case, streaming=streaming, seed=seed)
    if difference(expected, found.events):
        note(f"keys: {route_keys(rule)}")
        note(format_cases(cases_of("over shards", [rule], events, expected)))
    assert not difference(expected, found.events)


# --- keys ----------------------------------------------------------------------------------


KEYS = [
    ("tesla", "Smoke(area=$a) and each Temp(area=$a) within 5 min from Smoke", ["area"]),
    ("tesla", "Smoke(area=$a) and last Temp(area=$a) within 5 min from Smoke", ["area"]),
    ("tesla", "Smoke() and each Temp() within 5 min from Smoke", []),
    (
        "tesla",
        "Smoke(area=$a) and each Temp(area=$a) within 5 min from Smoke"
        " and not Rain(area=$a) between Temp and Smoke",
        ["area"],
    ),
    (
        "tesla",
        "Smoke(area=$a) and each Temp(area=$a) within 5 min from Smoke"
        " and not Rain() between Temp and Smoke",
        [],
    ),
]


@pytest.mark.parametrize(("language", "pattern", "names"), KEYS)
def test_a_key_must_cover_everything_that_a_rule_looks_at(
    language: str, pattern: str, names: list[str]
) -> None:
    (rule,) = cepheid.load(f"Rule R define F() from {pattern}", language=language)
    assert sorted({name for key in route_keys(rule) for name in key.values()}) == names


def test_a_policy_must_choose_within_the_key() -> None:
    """What hangs below is compared after the choice, which may fall on another key."""
    text = """Rule R define F() from Smoke(area=$a)
      and {} Temp() within 5 min from Smoke
      and each Fan(area=$a and room=Temp.area) within 5 min from Temp"""
    (each,) = cepheid.load(text.format("each"), language="tesla")
    (last,) = cepheid.load(text.format("last"), language="tesla")
    assert route_keys(each) == route_keys(last) == []


def test_a_detector_must_look_at_its_key_at_every_step() -> None:
    texts = {
        "define V as [a: A] ; [b: B(k = a.k)]": [{"A": "k", "B": "k"}],
        "define V as [a: A] ; [b: B] ; [c: C(k = a.k and k = b.k)]": [],
        "define V as [a: A] ; [b: B(k = a.k)]*": [{"A": "k", "B": "k"}],
        "define V as [a: A] ; [b: B]*": [],
    }
    for text, keys in texts.items():
        (rule,) = cepheid.load(text, language="core")
        assert route_keys(rule) == keys, text


# --- plans ---------------------------------------------------------------------------------


def planned(text: str, language: str, shards: int = 4) -> Plan:
    rules = cepheid.load(text, language=language)
    return plan_rules(rules.rules, rules.schema, Settings(), FORM, shards=shards, partitions=4)


def test_rules_with_the_same_key_share_a_group() -> None:
    plan = planned(
        "Rule R define F() from S(k=$a) and each T(k=$a) within 1 min from S\n"
        "Rule Q define G() from S(k=$a) and last U(k=$a) within 1 min from S\n"
        "Rule P define H() from S(j=$a) and last U(j=$a) within 1 min from S\n",
        "tesla",
    )
    assert [(group.name, [rule.name for rule in group.rules]) for group in plan.groups] == [
        ("k", ["R", "Q"]),
        ("j", ["P"]),
    ]


def test_rules_that_listen_to_each_other_share_shards_by_what_is_handed_on() -> None:
    makes = "Rule R define F(k: string) from S(k=$a) and each T(k=$a) within 1 min from S"
    hears = "Rule Q define G() from F(k=$a) and each U(k=$a) within 1 min from F"
    keyed = planned(f"{makes} where k = S.k\n{hears}\n", "tesla")
    assert [dict(group.key) for group in keyed.groups] == [{"F": "k", "S": "k", "T": "k", "U": "k"}]
    other = planned(f"{makes} where k = 'x'\n{hears}\n", "tesla")
    assert [(len(group.rules), dict(group.key)) for group in other.groups] == [(2, {})]


def test_rules_without_a_key_are_spread_family_by_family() -> None:
    texts = [
        f"Rule R{n} define F() from S() and each T(v > {n}) within 1 min from S" for n in range(6)
    ]
    texts += [f"Rule Q{n} define G() from U(v > {n})" for n in range(4)]
    plan = planned("\n".join(texts), "tesla", shards=2)
    assert sorted(len(group.rules) for group in plan.groups) == [4, 6]
    assert all(len(group.shards) == 1 for group in plan.groups)


def test_a_plan_is_the_same_after_its_way_as_text() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, B y) WHERE [id] WITHIN 1 hour", "sase")
    again = Plan.read(plan.written())
    assert again.written() == plan.written()
    assert again.groups[0].rules == plan.groups[0].rules


def test_plans_of_thousands_of_rules_go_to_workers_in_less_than_a_megabyte() -> None:
    texts = [
        f"Rule R{n} define F(v: int) from S() and each T(v > {n}) within {n + 1} s from S "
        f"where v = {n}"
        for n in range(4000)
    ]
    rules = cepheid.load("\n".join(texts), language="tesla", limit=1 << 20)
    plan = plan_rules(rules.rules, rules.schema, Settings(), FORM, shards=2, partitions=2)
    plans = Plans.single(plan)
    sent = pickle.dumps(plans)
    assert len(plans.texts[""]) > 1 << 21
    assert len(sent) < 1 << 20
    assert pickle.loads(sent) == plans  # noqa: S301 (what was written above)


def test_shards_must_be_a_sensible_number() -> None:
    with pytest.raises(EventError, match="shards must be a number from 1"):
        planned("QUERY Q EVENT A x", "sase", shards=0)


# --- routing -------------------------------------------------------------------------------


def test_equal_values_of_any_kind_have_one_hash() -> None:
    ints, doubles = pa.array([1, 0, 2**40]), pa.array([1.0, -0.0, float(2**40)])
    assert (hashes(ints) == hashes(doubles)).all()
    texts = pa.array(["a", "bb", "", "a"])
    assert (hashes(texts) == hashes(texts.dictionary_encode())).all()
    assert (hashes(texts.slice(1)) == hashes(texts)[1:]).all()
    assert len(set(hashes(pa.array([str(n) for n in range(1000)])).tolist())) == 1000


def test_events_go_to_one_shard_each_and_those_without_a_key_where_they_matter() -> None:
    events = [Event("A", n, n, {"id": n % 7} if n % 5 else {}) for n in range(70)]
    table = from_events(events)
    sase = planned("QUERY Q EVENT SEQ(A x, A y) WHERE [id] WITHIN 1 hour", "sase")
    routed = list(Router(sase).route(table))
    numbers = shard_numbers(sase.groups[0], table)
    gaps = int((numbers < 0).sum())
    assert gaps == 14
    assert sum(len(part) for _, part in routed) == len(events) - gaps + 4 * gaps
    tesla = planned(
        "Rule R define F() from A(id=$a) and each B(id=$a) within 1 min from A", "tesla"
    )
    assert sum(len(part) for _, part in Router(tesla).route(table)) == len(events) - gaps


def test_shards_get_about_equal_shares() -> None:
    events = [Event("A", n, n, {"id": f"tag-{n}"}) for n in range(4000)]
    plan = planned("QUERY Q EVENT SEQ(A x, A y) WHERE [id] WITHIN 1 hour", "sase")
    counts = np.bincount(shard_numbers(plan.groups[0], from_events(events)))
    assert counts.min() > 800


def test_the_newest_times_are_those_of_each_source() -> None:
    events = [
        Event("A", 1, 1, {"source": "x"}),
        Event("A", 5, 5, {"source": 2}),
        Event("A", 3, 3, {"source": "x"}),
        Event("A", 9, 9),
    ]
    table = from_events(events)
    assert newest_of(table, apart=True) == {"x": 3, 2: 5, None: 9}
    assert newest_of(table, apart=False) == {None: 9}


# --- state ---------------------------------------------------------------------------------


def test_damaged_state_is_told_with_its_shard() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour", "sase")
    name = plan.groups[0].shards[0]
    snapshot = Shard(plan, name).snapshot()
    with pytest.raises(SnapshotError, match=f"state of shard {name}: snapshot must have"):
        restored(plan, name, snapshot[:-3], [])
    record = packed([(0, b"abc"), (1, b"")])
    assert unpacked(record) == [(0, b"abc"), (1, b"")]
    with pytest.raises(SnapshotError, match=f"state of shard {name}: what is stored must be"):
        restored(plan, name, snapshot, [record[:-14]])


def test_every_byte_of_the_state_that_is_changed_or_missing_is_told() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour", "sase")
    name = plan.groups[0].shards[0]
    shard = Shard(plan, name)
    snapshot = shard.snapshot()
    message = of_table(name, from_events([Event("A", n, n, {"k": "x"}) for n in range(3)]))
    record = packed([(message.kind, message.payload), (1, of_heard(name, {}, {}).payload)])
    assert restored(plan, name, snapshot, [record]).engine.counters.received == 3
    for at in range(0, len(snapshot), 7):
        for damaged in (_flipped(snapshot, at), snapshot[:at]):
            with pytest.raises(SnapshotError, match=f"state of shard {name}: "):
                restored(plan, name, damaged, [])
    for at in range(len(record)):
        for damaged in (_flipped(record, at), record[:at], record + b"\0"):
            with pytest.raises(SnapshotError, match="what is stored must be as it was written"):
                unpacked(damaged)


def _flipped(given: bytes, at: int) -> bytes:
    return given[:at] + bytes([given[at] ^ 1 << at % 8]) + given[at + 1 :]


def test_settings_may_not_change_while_there_is_state() -> None:
    text = "QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour"
    plan = planned(text, "sase")
    name = plan.groups[0].shards[0]
    snapshot = Shard(plan, name).snapshot()
    rules = cepheid.load(text, language="sase")
    other = plan_rules(rules.rules, rules.schema, Settings(delay=5), FORM, shards=4, partitions=4)
    with pytest.raises(SnapshotError, match="delay was 0 and is 5"):
        restored(other, name, snapshot, [])
    with pytest.raises(SnapshotError, match="delay was 0 and is 5"):
        Shard(plan, name).settle(other)


# --- what may change over a restart --------------------------------------------------------


KEYED = "Rule R define F() from S(k=$a) and each T(k=$a) within 1 min from S"
SINGLE = "Rule {0} define {0}() from {1}() and each T(v > 1) within {2} from {1}"


def lasting(*texts: str, shards: int = 2, partitions: int = 2) -> str:
    rules = cepheid.load("\n".join(texts), language="tesla")
    spread = {"shards": shards, "partitions": partitions}
    plan = plan_rules(rules.rules, rules.schema, Settings(), FORM, **spread, lasting=True)
    return manifest.written(plan)


def test_rules_come_and_go_without_moving_the_others() -> None:
    others = [SINGLE.format(f"A{n}", f"X{n}", "1 min") for n in range(8)]
    known = lasting(KEYED, *others)
    for now in (lasting(*others), lasting(others[3]), lasting(KEYED, *reversed(others[1:]))):
        manifest.checked(known, now)
        assert manifest.checked(now, now) == now
    changed = SINGLE.format("A0", "X0", "2 min")
    manifest.checked(known, lasting(KEYED, changed, *others[1:], SINGLE.format("B", "B", "1 s")))


REFUSED = [
    ([KEYED], {"shards": 3}, "shards of k must be what it was when the checkpoint was writ"),
    ([KEYED], {"partitions": 5}, "spark.sql.shuffle.partitions must be what it was when"),
    (
        [KEYED, "Rule Q define G() from F() and each U() within 1 min from F"],
        {},
        "rule R must stay on the shards of k, where its state is; with the other rules",
    ),
]


@pytest.mark.parametrize(("texts", "options", "message"), REFUSED)
def test_what_would_lose_state_is_refused(
    texts: list[str], options: dict[str, int], message: str
) -> None:
    with pytest.raises(SnapshotError, match=message):
        manifest.checked(lasting(KEYED), lasting(*texts, **options))


def test_a_rule_that_is_another_may_be_elsewhere() -> None:
    manifest.checked(lasting(KEYED), lasting(KEYED.replace("k=$a", "j=$a")))


def test_rules_that_were_left_out_may_not_come_back_to_their_old_state() -> None:
    other = SINGLE.format("A", "X", "1 min")
    without = manifest.checked(lasting(KEYED, other), lasting(other))
    with pytest.raises(SnapshotError, match="rules by k must have been there at every start"):
        manifest.checked(without, lasting(KEYED, other))


def test_rules_may_change_while_there_is_state() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour", "sase")
    name = plan.groups[0].shards[0]
    shard = Shard(plan, name)
    shard.take_tables([from_events([Event("A", 1, 1)])], Heard({None: 1}))
    other = planned(
        "QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour\nQUERY P EVENT SEQ(A x, C y) WITHIN 1 hour",
        "sase",
        shards=1,
    )
    assert shard.settle(other)
    assert not shard.settle(other)
    events = from_events([Event("B", 2, 2), Event("C", 3, 3), Event("A", 4, 4), Event("C", 5, 5)])
    found = shard.take_tables([events], Heard({None: 5})).composites
    # Q has kept its A; P begins with the A that came after it.
    assert sorted(found.column("rule").to_pylist()) == ["P", "Q"]


def test_a_query_with_a_negation_is_spread_and_explained() -> None:
    text = "QUERY Q EVENT SEQ(A x, !(C z), B y) WHERE [k] WITHIN 1 min"
    told = cepheid.load(text, language="sase").explain(shards=4)
    assert "4 shards by k of A, B, C" in told
    assert "all events of C are sent to the first, too" in told
    assert "  C         to 1 or 2 shards\n" in told


def tellers(plan: Plan, *batches: list[Event]) -> dict[int, list[str]]:
    """Which shards tell of late events, by the times of these."""
    shards = {name: Shard(plan, name) for name in plan.shards}
    found: dict[int, list[str]] = {}
    for batch in batches:
        sender = Sender(plan, keep_bad=False)
        sent = list(sender.route(from_events(batch)))
        sent += [of_heard(name, sender.newest, sender.beats) for name in shards]
        for name, shard in shards.items():
            own = [(message.kind, message.payload) for message in sent if message.shard == name]
            for time in shard.take(own).late.ends.tolist():
                found.setdefault(time, []).append(name)
    return found


def test_a_late_event_without_a_key_is_told_by_the_first_shard_alone() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, B y) WHERE [k] WITHIN 1 min", "sase")
    (group,) = plan.groups
    assert group.gaps_go_everywhere
    assert len(group.shards) == 4
    late = [Event("B", n, n, {} if n < 3 else {"k": f"k{n}"}) for n in range(1, 9)]
    reached = [name for name, part in Router(plan).route(from_events(late)) if 1 in part.ends]
    assert reached == list(group.shards)
    found = tellers(plan, [Event("A", 100, 100, {"k": "x"})], late)
    assert {time: len(names) for time, names in found.items()} == dict.fromkeys(range(1, 9), 1)
    assert found[1] == found[2] == [group.shards[0]]
    # Those with a key are told where it leads.
    assert len({name for names in found.values() for name in names}) > 1


def test_a_late_event_that_may_forbid_is_told_once_though_the_first_shard_has_it_too() -> None:
    plan = planned("QUERY Q EVENT SEQ(A x, !(C z), B y) WHERE [k] WITHIN 1 min", "sase")
    (group,) = plan.groups
    assert group.forbidding == {"C"}
    late = [Event("C", n, n, {} if n < 3 else {"k": f"k{n}"}) for n in range(1, 12)]
    routed = list(Router(plan).route(from_events(late)))
    at = {n: {name for name, part in routed if n in part.ends} for n in range(1, 12)}
    assert {1: 4, 2: 4}.items() <= {n: len(names) for n, names in at.items()}.items()
    assert all(group.shards[0] in names for names in at.values())
    assert any(len(at[n]) == 2 for n in range(3, 12))
    found = tellers(plan, [Event("A", 100, 100, {"k": "x"})], late)
    assert {time: len(names) for time, names in found.items()} == dict.fromkeys(range(1, 12), 1)
    assert found[1] == found[2] == [group.shards[0]]
    # Those with a key are told where it leads.
    assert {n: found[n][0] for n in range(3, 12)} == {
        n: next(iter(at[n] - {group.shards[0]} or at[n])) for n in range(3, 12)
    }


def test_a_late_event_that_goes_to_several_groups_is_told_by_the_first_of_them() -> None:
    plan = planned(
        "Rule R define F() from S(k=$a) and each B(k=$a) within 1 min from S\n"
        "Rule P define H() from S(j=$a) and last B(j=$a) within 1 min from S\n"
        "Rule N define G() from S() and last B(v > 5) within 1 min from S",
        "tesla",
    )
    assert len(plan.groups) == 3
    first, second, third = ({*group.shards} for group in plan.groups)
    new = [Event("S", 100, 100, {"k": "x", "j": "x"})]
    late = [
        Event("B", 1, 1, {"k": "x", "j": "y", "v": 9}),
        Event("B", 2, 2, {"j": "y", "v": 9}),
        Event("B", 3, 3, {"v": 9}),
        Event("B", 4, 4, {"v": 1}),
    ]
    found = tellers(plan, new, late)
    assert {time: len(names) for time, names in found.items()} == {1: 1, 2: 1, 3: 1}
    for time, shards in ((1, first), (2, second), (3, third)):
        assert {*found[time]} <= shards


def test_late_events_are_told_with_their_times_as_they_came() -> None:
    late = from_events([Event("A", 5_000_000, 5_000_000, {"k": "x", "v": 1.5})])
    (seconds,) = late_texts(late, Times(Clock.of("s"))).to_pylist()
    assert json.loads(seconds) == {"type": "A", "ts": 5, "k": "x", "v": 1.5}
    (moment,) = late_texts(late, Times(Clock(), pa.timestamp("us", "UTC"))).to_pylist()
    assert json.loads(moment)["ts"].startswith("1970-01-01 00:00:05")


def test_history_is_consumed_in_stretches_that_do_not_part_what_ends_together() -> None:
    ends = [5, 1, 1, 1, 1, 9, 2, 7, 7, 7, 3]
    table = history.in_time(from_events([Event("A", end, end) for end in ends]))
    begin, found = 0, []
    while begin < len(table):
        end = history.end_of(table, begin, 3)
        found.append(table.ends[begin:end].tolist())
        begin = end
    assert found == [[1, 1, 1, 1], [2, 3, 5], [7, 7, 7], [9]]


def test_history_waits_with_what_may_not_be_all_of_its_time() -> None:
    table = from_events([Event("A", end, end) for end in [3, 1, 2, 3, 4]])
    early, rest = history.before(table, 3)
    assert (early.ends.tolist(), rest.ends.tolist()) == ([1, 2], [3, 3, 4])
    assert [len(part) for part in history.before(table, 5)] == [5, 0]
    assert [len(part) for part in history.before(table, None)] == [5, 0]


def test_stretches_grow_while_little_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that finds nothing at first, and then something in every event."""
    plan = planned("Rule R define C(x: int) from A(x > 100) where x = A.x", "tesla", shards=1)
    taken: list[int] = []
    take = Shard.take_tables

    def noted(self: Shard, tables: list[Table], heard: Heard) -> Outcome:
        taken.append(sum(map(len, tables)))
        return take(self, tables, heard)

    monkeypatch.setattr(history, "STRETCH", 4)
    monkeypatch.setattr(history, "LONGEST", 16)
    monkeypatch.setattr(Shard, "take_tables", noted)
    events = [Event("A", n, n, {"x": n}) for n in range(150)]
    (name,) = plan.shards
    messages = [of_table(name, from_events(events))]
    wanted = frozenset({COMPOSITE})
    tables = list(history.History(plan, name).tables(messages, None, wanted))
    found = [json.loads(a)["x"] for t in tables for a in t["attributes"].to_pylist()]
    assert found == list(range(101, 150))
    assert taken[:6] == [4, 8, 16, 16, 16, 16]
    assert taken[-2] == 4
