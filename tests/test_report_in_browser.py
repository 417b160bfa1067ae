"""The report in a real browser: it draws, zooms, filters and explains, and runs nothing else.

Without a browser these tests are skipped; `CEPHEID_BROWSER` names one that is not on the path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepheid
from cepheid.pictures.matches import Matches
from tests.browser import Tab, browsing, find_browser
from tests.test_pictures import HOSTILE, RULES, history, hostile_page

BROWSER = find_browser()
pytestmark = pytest.mark.skipif(
    BROWSER is None,
    reason="no browser: install chromium, or name one with CEPHEID_BROWSER",
)
IN_VIEW = re.compile(r"in view: ([\d,]+) match(?:es)?, ([\d,]+) events?;")


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    assert BROWSER is not None
    with browsing(BROWSER) as found:
        yield found


@pytest.fixture(scope="module")
def matches() -> Matches:
    return cepheid.load(RULES, language="tesla").matches(history())


@pytest.fixture(scope="module")
def page(matches: Matches, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "report.html"
    matches.report(path)
    return path


@pytest.fixture
def shown(tab: Tab, page: Path) -> Iterator[Tab]:
    tab.open(page)
    yield tab
    assert tab.complaints() == []


def in_view(tab: Tab) -> tuple[int, int]:
    """How many matches and events the page says are in view."""
    text = tab.run("document.getElementById('in-view').textContent")
    found = IN_VIEW.match(text)
    assert found is not None, text
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def explanation(tab: Tab) -> str:
    text: str = tab.run("document.getElementById('explanation').innerText")
    return text


def press_button(tab: Tab, name: str) -> None:
    tab.run(f"document.getElementById('{name}').click()")
    tab.settle()


def place(tab: Tab, name: str) -> tuple[float, float, float, float]:
    box = tab.run(
        f"(({{left, top, width, height}}) => [left, top, width, height])"
        f"(document.getElementById('{name}').getBoundingClientRect())"
    )
    return box[0], box[1], box[2], box[3]


def is_painted(tab: Tab, name: str) -> bool:
    """Whether a canvas has more colours than one."""
    script = f"""(() => {{
      const canvas = document.getElementById('{name}');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return new Set(new Uint32Array(data.buffer)).size > 3;
    }})()"""
    return bool(tab.run(script))


def test_everything_is_in_view_at_first(shown: Tab, matches: Matches) -> None:
    assert in_view(shown) == (len(matches), 150)
    assert is_painted(shown, "counts")
    assert is_painted(shown, "tracks")


def test_zoom_keeps_exact_counts_of_what_is_in_view(shown: Tab, matches: Matches) -> None:
    press_button(shown, "closer")
    some = in_view(shown)
    assert 0 < some[0] < len(matches)
    assert 0 < some[1] < 150
    press_button(shown, "later")
    assert in_view(shown) != some
    press_button(shown, "whole")
    assert in_view(shown) == (len(matches), 150)


def test_keyboard_does_what_the_mouse_does(shown: Tab, matches: Matches) -> None:
    shown.run("document.getElementById('tracks').focus()")
    shown.press("+")
    assert in_view(shown)[1] < 150
    shown.press("0")
    assert in_view(shown)[1] == 150
    shown.press("ArrowDown", 40)
    first = matches.table["id"][0].as_py()
    assert f"id {first}" in explanation(shown)
    shown.press("ArrowDown", 40)
    assert f"id {matches.table['id'][1].as_py()}" in explanation(shown)
    shown.press("Escape", 27)
    assert "Choose a match" in explanation(shown)


def test_wheel_with_control_zooms_and_drag_moves(shown: Tab) -> None:
    left, top, width, _ = place(shown, "tracks")
    wheel = {"deltaX": 0, "deltaY": -240, "modifiers": 2}
    shown.mouse("mouseWheel", left + width / 2, top + 30, **wheel)
    shown.settle()
    assert in_view(shown)[1] < 150
    first = "document.querySelector('#table tbody button').innerText"
    before = shown.run(first)
    shown.drag(left + width * 0.4, top + 4, left + width * 0.95, top + 4)
    assert shown.run(first) < before


def test_drag_over_the_counts_looks_closer(shown: Tab) -> None:
    left, top, width, _ = place(shown, "counts")
    shown.drag(left + width * 0.3, top + 30, left + width * 0.5, top + 30)
    assert 0 < in_view(shown)[1] < 75


def test_click_on_what_the_mouse_points_at_explains_it(shown: Tab) -> None:
    left, top, width, height = place(shown, "tracks")
    found = set()
    for y in range(4, int(min(height, 90)), 5):
        for x in range(60, int(width) // 2, 23):
            shown.mouse("mouseMoved", left + x, top + y)
            tip = shown.run("(t => t.hidden ? '' : t.textContent)(document.getElementById('tip'))")
            if not tip or tip.split()[0] in found:
                continue
            shown.click(left + x, top + y)
            assert explanation(shown).strip().startswith(tip.split()[0])
            found.add(tip.split()[0])
        if {"Fire", "Temp"} <= found:
            return
    raise AssertionError(f"only {found} can be pointed at")


def test_table_explains_a_match_with_its_events(shown: Tab, page: Path, matches: Matches) -> None:
    shown.run("document.querySelector('#table tbody button').click()")
    shown.settle()
    text = explanation(shown)
    first = matches.table.slice(0, 1).to_pylist()[0]
    assert f"found by rule {first['rule']}" in text
    assert "made of 2 events" in text
    assert f"area={first['area']}, value={first['value']:g}" in text
    assert "Temp.value > 45" in text
    assert '$a = "A0"' in text
    address = shown.run("location.hash")
    assert first["id"] in address
    shown.open(page, address=address)
    assert explanation(shown) == text


def test_match_made_of_matches_leads_to_them(shown: Tab, matches: Matches) -> None:
    alarm = matches.table["rule"].to_pylist().index("Alarm")
    id_ = matches.table["id"][alarm].as_py()
    shown.run(f"document.querySelector('tr[data-match=\"{alarm}\"] button').click()")
    assert f"id {id_}" in explanation(shown)
    shown.run("document.querySelector('#explanation button').click()")
    assert "found by rule Fire" in explanation(shown)


def test_filters_count_exactly(shown: Tab, matches: Matches) -> None:
    areas = matches.table["area"].to_pylist()
    rules = matches.table["rule"].to_pylist()
    shown.run("document.querySelectorAll('#filter-rules input')[0].click()")
    shown.settle()
    assert in_view(shown) == (rules.count("Alarm"), 150)
    shown.run("document.querySelectorAll('#filter-types input')[0].click()")
    shown.settle()
    assert in_view(shown) == (rules.count("Alarm"), 30)
    shown.run("""(s => { s.value = [...s.options].find(o => o.text === 'A1').value;
                 s.dispatchEvent(new Event('change')); })(document.getElementById('key'))""")
    shown.settle()
    both = Counter(zip(rules, areas, strict=True))["Alarm", "A1"]
    assert in_view(shown) == (both, 10)


def test_dark_and_light_follow_the_system_and_the_button(shown: Tab) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = shown.run(colour)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    shown.call("Emulation.setEmulatedMedia", features=features)
    dark = shown.run(colour)
    assert dark != light
    press_button(shown, "theme")
    assert shown.run(colour) == light
    shown.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_page_is_never_wider_than_the_window(tab: Tab, page: Path, width: int) -> None:
    tab.open(page, width=width)
    assert tab.run("document.documentElement.scrollWidth") <= width


def test_hostile_events_are_shown_as_text_and_run_nothing(tab: Tab, tmp_path: Path) -> None:
    report, found = hostile_page()
    tab.open(report.save(tmp_path / "hostile.html"))
    assert tab.complaints() == []
    assert not [note for note in tab.notes if note["method"] == "Page.javascriptDialogOpening"]
    assert tab.run("document.title") == HOSTILE[0]
    assert tab.run("document.querySelectorAll('script').length") == 2
    assert tab.run("document.querySelectorAll('img').length") == 0
    for at in range(len(found)):
        tab.run(f"document.querySelector('tr[data-match=\"{at}\"] button').click()")
        assert "found by rule Q" in explanation(tab)
    assert tab.run("document.querySelectorAll('#explanation img, #table img').length") == 0
    cells = tab.run(
        "[...document.querySelectorAll('#table td:nth-child(3)')].map(c => c.innerText)"
    )
    assert HOSTILE[1] in cells


def test_nothing_found_and_no_events_are_pages_too(tab: Tab, tmp_path: Path) -> None:
    rules = cepheid.load(RULES, language="tesla")
    cold = [{"type": "Temp", "ts": 3, "area": "A", "value": 1.0}]
    rules.matches(cold, unit="s").report(tmp_path / "cold.html")
    tab.open(tmp_path / "cold.html")
    assert in_view(tab) == (0, 1)
    assert "No rule found anything" in explanation(tab)
    rules.matches([]).report(tmp_path / "none.html")
    tab.open(tmp_path / "none.html")
    assert "There are no events." in tab.run("document.body.innerText")
    assert tab.complaints() == []
