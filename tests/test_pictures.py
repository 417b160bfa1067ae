"""Pictures: what is counted is everything, what is drawn a fair part; nothing in them can run."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import csv

import cepheid
from cepheid.cli import main
from cepheid.errors import EventError, PictureError
from cepheid.pictures.drawn import choose
from cepheid.pictures.matches import Matches
from cepheid.pictures.sampling import fair
from cepheid.tables.arrow import Arrow

RULES = """
Rule Fire
define Fire(area: string, value: double)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and value = Temp.value
Rule Alarm
define Alarm(area: string)
from Fire(area = $a and value > 47)
where area = $a
"""
MINUTE = 60_000_000


def history(hours: int = 10, areas: int = 3) -> Arrow:
    """In each hour and area four readings that rise from 44.5, then smoke."""
    rows = [
        (type_, hour * 60 + minute, f"A{area}", value)
        for hour in range(hours)
        for area in range(areas)
        for type_, minute, value in (
            *(("Temp", minute, 44.5 + minute) for minute in range(4)),
            ("Smoke", 4, None),
        )
    ]
    types, minutes, names, values = zip(*rows, strict=True)
    times = pa.array([minute * 60 for minute in minutes], pa.int64()).cast(pa.timestamp("s"))
    return pa.table({"type": types, "ts": times, "area": names, "value": values})


@pytest.fixture(scope="module")
def rules() -> cepheid.Rules:
    return cepheid.load(RULES, language="tesla")


@pytest.fixture(scope="module")
def matches(rules: cepheid.Rules) -> Matches:
    return rules.matches(history())


def payload_of(page: cepheid.Page) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


# --- matches ----------------------------------------------------------------


def test_table_is_that_of_detect(rules: cepheid.Rules, matches: Matches) -> None:
    assert matches.table.equals(rules.detect(history()))
    assert matches.counts == dict(Counter(matches.table["rule"].to_pylist()))


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "dictionaries", "events", "mapping"])
def test_events_may_have_any_form_that_detect_takes(
    rules: cepheid.Rules, matches: Matches, form: str
) -> None:
    table = history()
    temps, smoke = (
        table.filter(pa.compute.equal(table["type"], name)) for name in ("Temp", "Smoke")
    )
    forms: dict[str, Any] = {
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": polars.from_arrow(table),
        "dictionaries": table.to_pylist(),
        "events": [
            cepheid.Event(
                one["type"],
                int(one["ts"].timestamp()) * 1_000_000,
                int(one["ts"].timestamp()) * 1_000_000,
                {k: one[k] for k in ("area", "value") if one[k] is not None},
            )
            for one in table.to_pylist()
        ],
        "mapping": {"Temp": temps, "Smoke": smoke.drop_columns(["value"])},
    }
    found = rules.matches(forms[form])
    assert found.table["id"].to_pylist() == matches.table["id"].to_pylist()
    assert found.trace.rows.tolist() == matches.trace.rows.tolist()


def test_constituents_are_the_rows_that_the_composite_event_names(matches: Matches) -> None:
    trace = matches.trace
    for at, made in enumerate(matches.table["events"].to_pylist()):
        rows = trace.rows[trace.offsets[at] : trace.offsets[at + 1]].tolist()
        wholes = trace.wholes[trace.offsets[at] : trace.offsets[at + 1]].tolist()
        for part, row, whole in zip(made, rows, wholes, strict=True):
            if row >= 0:
                event = trace.events.event(row)
                assert (event.type, whole) == (part["type"], -1)
                assert event.end == int(part["ts"].timestamp()) * 1_000_000
            else:
                assert matches.table["id"][whole].as_py() == part["id"]


def test_until_and_failures_are_those_of_detect() -> None:
    rules = cepheid.load("examples/office/office.ce")
    opening = [{"type": "Opening", "ts": 0, "room": "A"}]
    assert len(rules.matches(opening, unit="min")) == 0
    assert rules.matches(opening, unit="min", until=5).counts["LeftOpen"] == 1


def test_what_are_no_events_is_told(rules: cepheid.Rules) -> None:
    with pytest.raises(EventError, match="events must be a list"):
        rules.matches("Temp@1")
    with pytest.raises(EventError, match="events must be a list"):
        rules.matches(7)


# --- tracks ------------------------------------------------------------------


def test_tracks_are_the_values_of_what_parts_the_rules(matches: Matches) -> None:
    tracks = matches.scene().tracks
    assert (tracks.key, tracks.keys) == (("area",), 3)
    areas = [tracks.names[track] for track in tracks.matches.tolist()]
    assert areas == matches.table["area"].to_pylist()


def test_tracks_of_another_key(matches: Matches) -> None:
    tracks = matches.scene("value").tracks
    assert tracks.names[-1] == "no key"
    with pytest.raises(PictureError, match="did you mean area"):
        matches.scene("arae")


def test_keys_without_a_track_of_their_own_share_one(rules: cepheid.Rules) -> None:
    found = rules.matches(history(hours=2, areas=30))
    tracks = found.scene(tracks=4).tracks
    assert tracks.names[-1] == "26 other keys"
    assert np.bincount(tracks.events).tolist() == [10, 10, 10, 10, 260]


def test_rules_without_a_key_have_one_track() -> None:
    rules = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WITHIN 9 s", language="sase")
    tracks = rules.matches(cepheid.parse_events("A@1(k=1) B@2(k=2)")).scene().tracks
    assert (tracks.key, tracks.names) == ((), ("all events",))


# --- what is drawn, what is counted -----------------------------------------


def test_fair_sample_has_some_of_every_stratum() -> None:
    strata = np.array([0] * 1000 + [1] * 10 + [2])
    chosen = fair(strata, 20)
    assert len(chosen) == 20
    assert np.bincount(strata[chosen]).tolist() == [10, 9, 1]
    assert (np.diff(chosen) > 0).all()
    assert len(fair(np.arange(1000), 7)) == 7


def test_all_events_of_a_drawn_match_are_drawn(matches: Matches) -> None:
    scene = matches.scene()
    drawn = choose(scene, events=5, matches=4)
    assert len(drawn.matches) < len(matches)
    events, wholes = set(drawn.events.tolist()), set(drawn.matches.tolist())
    for match in wholes:
        span = slice(scene.trace.offsets[match], scene.trace.offsets[match + 1])
        assert set(scene.trace.rows[span].tolist()) - {-1} <= events
        assert set(scene.trace.wholes[span].tolist()) - {-1} <= wholes


def test_counts_are_of_all_whatever_is_drawn(matches: Matches) -> None:
    data = payload_of(matches.report(events=3, matches=2))
    assert len(data["events"]["ts"]) < len(matches.trace.events)
    assert sum(data["counts"]["events"]["count"]) == data["total"]["events"] == 150
    assert sum(data["counts"]["matches"]["count"]) == data["total"]["matches"] == len(matches)
    by_rule = {one["name"]: one["count"] for one in data["rules"]}
    assert by_rule == matches.counts
    counted: Counter[str] = Counter()
    for series, count in zip(
        data["counts"]["matches"]["series"], data["counts"]["matches"]["count"], strict=True
    ):
        counted[data["rules"][series]["name"]] += count
    assert counted == by_rule


def test_counts_stand_where_the_events_are(matches: Matches) -> None:
    data = payload_of(matches.report())
    size, cells = data["counts"]["size"], data["counts"]["events"]
    base = data["begin"] // size
    found: Counter[int] = Counter()
    for at, count in zip(cells["at"], cells["count"], strict=True):
        found[at + base] += count
    ends = matches.trace.events.ends // size
    assert found == Counter(ends.tolist())


def test_page_says_how_much_is_drawn(matches: Matches) -> None:
    assert "Every event and every match is drawn." in matches.report().html
    page = matches.report(events=3, matches=2)
    data = payload_of(page)
    drawn = f"{len(data['events']['ts'])} of 150 events and {len(data['matches']['ts'])} of 120"
    assert drawn in page.html


# --- pictures ---------------------------------------------------------------


def test_draw_is_shown_by_notebooks_and_saved(rules: cepheid.Rules, tmp_path: Path) -> None:
    picture = rules.draw()
    assert repr(picture) == "Picture of rules Fire, Alarm"
    assert picture._repr_svg_() == rules.svg()
    assert picture.save(tmp_path / "rules.svg").read_text("utf-8") == rules.svg()
    with pytest.raises(PictureError, match=r"must end in \.svg; got rules\.png"):
        picture.save(tmp_path / "rules.png")
    with pytest.raises(PictureError, match="No such file"):
        picture.save(tmp_path / "nowhere" / "rules.svg")


def test_timeline_has_a_mark_for_each_event_and_match(matches: Matches) -> None:
    root = ET.fromstring(matches.timeline().svg)  # noqa: S314 (our own picture)
    space = "{http://www.w3.org/2000/svg}"
    types, rules = 2, 2
    assert len(root.findall(f"{space}circle")) == len(matches.trace.events) + types
    # One more is the paper.
    assert len(root.findall(f"{space}rect")) == len(matches) + rules + 1
    texts = [node.text or "" for node in root.findall(f"{space}text")]
    assert {"A0", "A1", "A2", "Fire", "Smoke"} <= set(texts)


def test_timeline_says_what_is_left_out(matches: Matches) -> None:
    assert "of 120 matches" in matches.timeline(events=3, matches=2).svg
    with pytest.raises(PictureError, match="events must be at least 1; got 0"):
        matches.timeline(events=0)


def test_nothing_found_and_no_events_have_pictures(rules: cepheid.Rules, tmp_path: Path) -> None:
    cold = rules.matches([{"type": "Temp", "ts": 3, "area": "A", "value": 1.0}], unit="s")
    none = rules.matches([])
    for found in (cold, none):
        ET.fromstring(found.timeline().svg)  # noqa: S314 (our own picture)
        data = payload_of(found.report(tmp_path / "report.html"))
        assert data["matches"]["id"] == []
    assert "There are no events." in none.report().html
    assert "<b>0</b> matches in <b>1</b> event" in cold.report().html


# --- hostile events ---------------------------------------------------------

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<!--",
    "]]>&amp;",
    "\u2028\u2029",
    "\x00\x1b\ufffe\U0001f525",
    "${title} $data",
    "\u202emirrored",
)


def hostile_page() -> tuple[cepheid.Page, Matches]:
    rules = cepheid.load(
        "QUERY Q EVENT SEQ(A x, B y) WHERE [k] WITHIN 9 s RETURN Out(text = y.text)",
        language="sase",
    )
    events = [
        {"type": type_, "ts": at, "k": text, "text": text, text: text}
        for at, text in enumerate(HOSTILE)
        for type_ in ("A", "B", text)
    ]
    for number, event in enumerate(events):
        event["ts"] = number
    found = rules.matches(events, unit="s")
    return found.report(title=HOSTILE[0]), found


class _Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_events_stay_text_in_the_page() -> None:
    page, found = hostile_page()
    assert len(found) == len(HOSTILE)
    reader = _Elements()
    reader.feed(page.html)
    assert [tag for tag, _ in reader.found].count("script") == 2
    assert not [tag for tag, _ in reader.found if tag == "img"]
    handlers = [name for _, attrs in reader.found for name in attrs if name.startswith("on")]
    assert not handlers
    assert "alert(1)</script>" not in page.html
    data = payload_of(page)
    assert set(data["matches"]["values"]["text"]) == set(HOSTILE)
    assert set(data["tracks"]) == set(HOSTILE)


def test_hostile_events_stay_text_in_the_timeline() -> None:
    _, found = hostile_page()
    root = ET.fromstring(found.timeline().svg)  # noqa: S314 (our own picture)
    assert {node.tag.partition("}")[2] for node in root.iter()} <= {
        "svg", "title", "rect", "path", "circle", "text"
    }  # fmt: skip


def test_page_in_a_notebook_is_in_a_frame_of_its_own() -> None:
    page, _ = hostile_page()
    reader = _Elements()
    reader.feed(page._repr_html_())
    ((tag, attributes),) = reader.found
    assert (tag, attributes["srcdoc"], attributes["sandbox"]) == (
        "iframe",
        page.html,
        "allow-scripts",
    )


def test_page_names_nothing_outside_itself(matches: Matches) -> None:
    html = matches.report().html
    reader = _Elements()
    reader.feed(html)
    for tag, attributes in reader.found:
        assert tag not in ("link", "iframe", "object", "embed")
        assert not {"src", "href", "srcset", "action"} & set(attributes)
    assert re.findall(r"https?://[^\"' <]*", html) == ["http://www.w3.org/2000/svg"] * 2
    assert "default-src &#x27;none&#x27;" in html


def test_numbers_that_a_browser_would_change_are_texts() -> None:
    rules = cepheid.load("QUERY Q EVENT A x RETURN Out(n = x.n)", language="sase")
    events = [{"type": "A", "ts": 1, "n": 2**60 + 1}, {"type": "A", "ts": 2, "n": 5}]
    data = payload_of(rules.matches(events, unit="s").report())
    assert data["events"]["values"]["n"] == [str(2**60 + 1), 5]
    infinite = [{"type": "A", "ts": 1, "n": float("inf")}]
    data = payload_of(rules.matches(infinite, unit="s").report())
    assert data["events"]["values"]["n"] == ["inf"]


# --- the command ------------------------------------------------------------


def test_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule, events = tmp_path / "fire.tesla", tmp_path / "events.csv"
    rule.write_text(RULES)
    csv.write_csv(history(), events)
    page = tmp_path / "page.html"
    command = ["report", str(rule), "--input", str(events), "--output", str(page)]
    assert main([*command, "--title", "A & B"]) == 0
    assert capsys.readouterr().out == f"{page}: 120 matches in 150 events\n"
    assert "<h1>A &amp; B</h1>" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--input", "events.csv", "--output", "page.pdf"], 1, "must end in .html; got page.pdf"),
        (["--input", "nothing.csv"], 1, "nothing is at nothing.csv"),
        (["--input", "events.csv", "--key", "arae"], 1, "did you mean area?"),
        (["--input", "events.csv", "--draw-events", "0"], 1, "events must be at least 1; got 0"),
        (["--input", "events.csv", "--until", "soon"], 1, "a moment must be written as"),
        ([], 2, "--input must say where the events are"),
    ],
)
def test_command_tells_what_is_wrong(
    *,
    arguments: list[str],
    status: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fire.tesla").write_text(RULES)
    csv.write_csv(history(1, 1), "events.csv")
    assert main(["report", "fire.tesla", *arguments]) == status
    assert told in capsys.readouterr().err
