"""What the long run tries again, and what it leaves out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import long_run
from tests.long_run import Note, code_behind, digest, leave_out, read_notes, write_note

HERE = Path(__file__)


def item(name: str) -> pytest.Item:
    return cast("pytest.Item", SimpleNamespace(nodeid=name, path=HERE))


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "NOTES", tmp_path / "notes.json")


def left(items: list[Any], examples: int) -> list[str]:
    leave_out(items, examples)
    return [one.nodeid for one in items]


@pytest.mark.usefixtures("notes")
def test_what_has_passed_on_this_code_is_left_out() -> None:
    write_note("a", Note(code=code_behind(HERE), examples=100))
    assert left([item("a"), item("b")], 100) == ["b"]


@pytest.mark.usefixtures("notes")
def test_more_examples_are_tried_again() -> None:
    write_note("a", Note(code=code_behind(HERE), examples=100))
    assert left([item("a")], 101) == ["a"]


@pytest.mark.usefixtures("notes")
def test_other_code_is_tried_again() -> None:
    write_note("a", Note(code="of yesterday", examples=100))
    assert left([item("a")], 100) == ["a"]


@pytest.mark.usefixtures("notes")
def test_nothing_is_left_out_without_notes() -> None:
    assert read_notes() == {}
    assert left([item("a")], 1) == ["a"]


@pytest.mark.usefixtures("notes")
def test_a_new_note_takes_the_place_of_an_old_one() -> None:
    write_note("a", Note(code="old", examples=1))
    write_note("b", Note(code="old", examples=1))
    write_note("a", Note(code="new", examples=2))
    assert read_notes() == {
        "a": {"code": "new", "examples": 2},
        "b": {"code": "old", "examples": 1},
    }


def test_a_digest_tells_of_every_byte_and_name(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("a = 1\n")
    other.write_text("a = 2\n")
    both = digest([one, other])
    assert digest([other, one]) == both
    other.write_text("a = 3\n")
    assert digest([one, other]) != both
    before = digest([one])
    assert before != digest([one.rename(tmp_path / "third.py")])


def test_only_tests_that_name_spark_depend_on_it(tmp_path: Path) -> None:
    plain, distributed = tmp_path / "test_it.py", tmp_path / "test_it_too.py"
    plain.write_text("import cepheid\n")
    distributed.write_text("import cepheid.spark\n")
    assert code_behind(plain) != code_behind(distributed)
