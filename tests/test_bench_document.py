"""The document of the benchmarks: every result in it, every loss named, plots that can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench import all as everything
from bench import document, plots
from bench.curves import Curve, Panel, Plot
from bench.document import losses, tables
from bench.recorded import Results

MACHINE = {
    "time": "2026-11-15T10:00:00+00:00",
    "processor": "Some Processor",
    "cores": 2,
    "system": "Linux-6-with-glibc",
    "python": "3.11.7",
    "cepheid": "0.1.0",
    "command": ["python", "-m", "bench", "--full", "--skip", "queue/*"],
}


def _figure(name: str, value: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    usual = {"unit": "events/s", "better": "more", "target": None, "ratio": None, "known": None}
    counts = {"events": 10, "composites": 20, "composites/s": 5000.0}
    return {"name": name, "value": value, **usual, "right": True, "error": None, **counts, **more}


def _result(engine: str, rate: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    counts = {"events": 1000, "composites": 500, "seconds": 1000 / rate, "peak": 2**28}
    told = {"contest": "trex/filters", "engine": engine, "cores": 1, "rate": rate, "aim": None}
    return {**told, "cepheid": None, "answer": "same", "right": True, **counts, **more}


def _sample(**more: Any) -> Results:  # noqa: ANN401
    papers = [
        _figure("fires/R2/50%", 600_000.0, target=560_000.0, ratio=1.07, known=5600.0, limit=1e6),
        _figure("sase/5/length 2", 1e7),
        _figure("sase/5/length 6", 1e6, target=6e6, ratio=0.17),
        _figure("push/1000 rules/median", 90.0, unit="µs", better="less", known=70.0),
    ]
    queue = [
        _figure(f"queue/last/rates/size 100/{rate} a second", lost, unit="% lost", better="less")
        | {"rate": rate, "size": 100, "offered/s": float(rate), "composites/s": 100.0}
        for rate, lost in ((2000, 0.0), (8000, 0.5), (12_000, 20.0))
    ]
    peers = [
        _result("cepheid", 1e6, p50=30.0, kernel=4e-4, whole=2e-3),
        _result("esper", 2e5, cepheid=5.0, aim=10.0, p50=4.0),
        _result("duckdb", 2e6, cepheid=0.5),
        _result("cepheid on spark", 5e5, cores=2, peak=2**31),
        _result("flink 2 slots", 1e5, cores=2, cepheid=5.0, aim=3.0, peak=2**30),
    ]
    reasons = [
        {"contest": contest, "engine": "flink-sql", "why": "it cannot say it"}
        for contest in ("trex/filters", "trex/R1/10%")
    ]
    files = {
        "papers": {"machine": MACHINE, "figures": papers},
        "queue": {"machine": MACHINE, "figures": queue},
        "peers": {"machine": MACHINE, "results": peers, "reasons": reasons},
    }
    return Results(files | more)


def test_every_place_of_the_page_is_filled() -> None:
    page = document.PAGE.read_text("utf-8")
    assert set(document.PLACE.findall(page)) == set(document.SECTIONS)
    text = document.written(_sample(), page)
    assert "{{" not in text
    assert (
        "| `fires/R2/50%` | 600,000 | events/s | 560,000 | 1.07 | 107 | 60.0% | 5,000 | right |"
        in text
    )
    assert "| last | 100 | 8,000 | 20 % at 12,000 |" in text
    assert "Where an engine did not run" in text
    assert "- Flink SQL: it cannot say it (`trex/filters`, `trex/R1/10%`)" in text
    assert "| `trex/filters` | 1,000 | 400 | 2,000 |" in text


def test_a_page_with_an_unknown_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"nothing.*must be one of"):
        document.written(Results(), "{{nothing}}")


def test_without_results_every_section_says_so_plainly() -> None:
    text = document.written(Results(), document.PAGE.read_text("utf-8"))
    for part in ("papers", "queue", "spark", "peers"):
        assert f"Not measured yet: `make bench PARTS={part}` does it." in text
    assert "images/bench" not in text
    assert "Not measured yet, so not known" in losses.section(Results())


def test_the_date_the_machine_and_the_command_of_a_part_are_told() -> None:
    told = tables.machine(_sample())
    assert "2026-11-15 10:00:00 UTC | Some Processor, 2 cores, Linux-6 |" in told
    assert '`python -m bench --full --skip "queue/*"`' in told
    assert "| Spark | not measured yet |" in told
    assert "fewer events" not in told


def test_contests_that_were_held_again_have_a_date_and_a_machine_of_their_own() -> None:
    sample = _sample()
    again = {"time": "2026-11-18T22:00:00+00:00", "processor": "Another", "note": "Noisy."}
    (contest,) = {result["contest"] for result in sample.contests}
    peers = {**sample.files["peers"], "again": [again | {"contests": [contest]}]}
    told = tables.machine(_sample(peers=peers))
    assert f"| `{contest}` | 2026-11-18 22:00:00 UTC | Another |" in told
    assert f"**{contest}**: Noisy." in told
    assert "Another" not in tables.machine(sample)


def test_a_run_with_few_events_is_called_one() -> None:
    machine = MACHINE | {"command": ["python", "-m", "bench.spark", "--scale", "0.02"]}
    told = tables.machine(_sample(spark={"machine": machine, "figures": []}))
    assert "With fewer events than the scenarios have: Spark." in told
    said = losses.section(_sample(spark={"machine": machine, "figures": []}))
    assert said.startswith("- Measured with few events, so of little weight here: Spark.")


def test_figures_that_were_copied_by_hand_are_called_so() -> None:
    machine = {"published": "2026-11-15", "cores": 2, "note": "Copied by hand."}
    told = tables.machine(_sample(spark={"machine": machine, "figures": []}))
    assert "| Spark | published 2026-11-15, time not recorded | 2 cores |  | see below |" in told
    assert "**Spark**: Copied by hand." in told


def test_every_loss_is_named() -> None:
    said = losses.section(_sample())
    assert "Target missed: `sase/5/length 6` is 1,000,000 events/s, to reach was 6,000,000." in said
    assert "Behind the paper's system: `push/1000 rules/median`, 0.78 × of 70.00 µs." in said
    assert "loses events beyond 8,000 a second" in said
    assert "DuckDB (a join) is faster: `trex/filters` (2.0 ×)." in said
    assert "Esper is slower, but by less than the aim: `trex/filters` (5.0 × of 10 ×)." in said
    assert (
        "Esper needs less time for one event alone: `trex/filters` (4.00 against 30.00 µs)" in said
    )
    assert "Flink CEP, 2 slots needs less memory: `trex/filters` (1,024 against 2,048 MiB)." in said
    assert "fires/R2" not in said


def test_a_wrong_count_is_the_first_loss() -> None:
    wrong = [_figure("office", 0.0, right=False, error="ValueError: no")]
    said = losses.section(_sample(spark={"machine": MACHINE, "figures": wrong}))
    assert said.startswith("- **Wrong**: `office` ValueError: no.")


def test_without_losses_the_page_says_so() -> None:
    empty = {"machine": MACHINE, "figures": [], "results": []}
    assert losses.section(Results(dict.fromkeys(("papers", "queue", "spark", "peers"), empty))) == (
        "Nowhere in what was measured."
    )


def test_every_experiment_of_the_papers_has_a_plot() -> None:
    names = [plot.name for plot in plots.plots(Results())]
    trex = [f"trex-{number:02}" for number in range(5, 18)]
    laipe = [f"laipe-{number:02}" for number in (6, 7, 8)]
    assert names == [*trex, *laipe, *(f"sase-{number}" for number in range(1, 7))]
    assert not any(plot.drawn for plot in plots.plots(Results()))


def test_plots_ask_for_figures_that_are_measured() -> None:
    """A figure of every name that there is fills every panel, but for those of other engines."""
    from bench.__main__ import tasks

    more = {"p99": 2.0, "cores": 1, "offered/s": 7.0, "spike": 3.0}
    listed = [_figure(f"{task.name}{'/x' * task.name.startswith('queue')}", 2.0, **more)
              for task in tasks()]  # fmt: skip
    results = Results({"papers": {"machine": MACHINE, "figures": listed}})
    empty = [
        (plot.name, panel.title, curve.label)
        for plot in plots.plots(results)
        for panel in plot.panels
        for curve in panel.curves
        if not curve.points and "peers" not in curve.label
    ]
    assert empty == []


def test_labels_are_moved_apart_and_stay_in_order() -> None:
    assert plots.spread([0.5, 0.5, 0.1], 0.1) == [0.45, 0.55, 0.1]
    crowded = plots.spread([0.99, 0.98, 0.97, 0.2], 0.06)
    assert crowded == [1.0, 0.94, 0.88, 0.2]
    assert plots.spread([], 0.1) == []


def test_numbers_on_an_axis_are_short() -> None:
    assert [plots.short(n) for n in (2e6, 1500, 0.25, 0)] == ["2 M", "1.5 k", "0.25", "0"]


def test_a_plot_is_a_small_svg_with_its_labels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib, of requirements/bench.lock")
    curves = (Curve("Cepheid", ((1.0, 10.0), (2.0, 1000.0))), Curve("empty", ()))
    panel = Panel("left", "rules", "events a second", curves, y_log=True)
    path = plots.draw(Plot("one", "A title", "said", (panel,)), tmp_path)
    assert path is not None
    root = ET.fromstring(path.read_text("utf-8"))  # noqa: S314 (a file of our own)
    texts = {
        "".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"A title", "rules", "events a second", "Cepheid"} <= texts
    assert "empty" not in texts
    assert path.stat().st_size < 100_000


def test_plots_of_what_is_no_longer_there_are_removed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib, of requirements/bench.lock")
    old = tmp_path / "old.svg"
    old.write_text("<svg/>", "utf-8")
    written = plots.draw_all(_sample(), tmp_path)
    assert [path.name for path in written] == ["trex-16.svg", "sase-5.svg"]
    assert not old.exists()


def test_the_command_writes_the_page_from_what_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "results"
    kept.mkdir()
    for part, file in _sample().files.items():
        (kept / f"{part}.json").write_text(json.dumps(file), "utf-8")
    page = tmp_path / "page.md"
    given = ["--parts", "document", "--results", str(kept), "--page", str(page)]
    assert everything.main(given) == 0
    assert "`sase/5/length 6`" in page.read_text("utf-8")


def test_a_part_that_fails_keeps_its_former_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    former = tmp_path / "spark.json"
    former.write_text(json.dumps({"machine": MACHINE, "figures": []}), "utf-8")
    before = former.read_text("utf-8")
    monkeypatch.setattr(everything, "COMMANDS", {"spark": ("json.tool", "--no-such-option")})
    monkeypatch.setattr(everything, "OUT", tmp_path / "out")
    monkeypatch.setattr(everything, "draw", lambda results, folder: 0)
    given = ["--parts", "spark", "--results", str(tmp_path), "--page", str(tmp_path / "page.md")]
    assert everything.main(given) == everything.FAILED
    assert former.read_text("utf-8") == before
    assert "its former figures stay" in capsys.readouterr().err
