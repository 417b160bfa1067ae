"""Compiled code on the disk: written by one process at a time."""

from __future__ import annotations

import threading
from pathlib import Path

from cepheid.kernel.compiled import locked
from cepheid.kernel.store import begin_compaction


def test_a_folder_is_locked_until_the_one_before_is_done(tmp_path: Path) -> None:
    order: list[str] = []
    waited = threading.Event()

    def second() -> None:
        with locked(tmp_path, "writing", waited.set):
            order.append("second")

    with locked(tmp_path, "writing"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_compiled_functions_write_under_the_lock() -> None:
    save = begin_compaction._cache.save_overload  # type: ignore[attr-defined]  # numba adds it
    assert save.__module__ == "cepheid.kernel.compiled"
