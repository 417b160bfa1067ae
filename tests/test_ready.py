"""What `python -m cepheid.kernel.ready` compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.algebra import Collection, Detector, Run, Tree
from cepheid.kernel import ready

ALL = (1, 1, 1, 1)
EACH = {(1, None, None, None), (None, 1, None, None), (None, None, 1, None), (None, None, None, 1)}


@pytest.mark.parametrize("cores", [1, 2])
def test_everything_is_all_strategies_together_and_each_alone(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[ready.Flags] = []
    monkeypatch.setattr(ready, "cache_folder", lambda _: str(tmp_path))
    monkeypatch.setattr(ready, "cores_of", lambda _: cores)
    monkeypatch.setattr(ready, "_compile", compiled.append)
    monkeypatch.setattr(ready, "_ready", set())
    # The other process finds nothing to do, or dies: all is compiled here in the end.
    monkeypatch.setattr("sys.executable", "/bin/false")
    ready._compile_everything()
    assert compiled[0] == ALL
    assert set(compiled[1:]) == EACH
    assert len(compiled) == 5
    monkeypatch.setattr(ready, "_ready", set())
    ready._compile_everything()
    assert len(compiled) == 5  # the marks say that it is there


def test_rules_of_one_kind_need_one_strategy_and_others_all() -> None:
    assert {ready.flags([pattern]) for pattern in (Tree, Run, Collection, Detector)} == EACH
    assert ready.flags([Tree, Run]) == ALL
    assert ready.written(ready.flags([Run])) == "0100"
