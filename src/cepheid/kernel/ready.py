"""Compilation that is announced: the first time on a machine it takes a while, and says so.

Compiled code is kept on disk (see `compiled`). A mark beside it tells that everything a set of
strategies needs is there; without the mark, functions are compiled part by part, with progress on
the standard error stream.

    python -m cepheid.kernel.ready      compile everything now
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import types

from cepheid.algebra import Collection, Detector, Run, Tree
from cepheid.cores import cores_of
from cepheid.kernel.collecting import mark_collections, move_collections, see_collections
from cepheid.kernel.compiled import cache_folder, locked
from cepheid.kernel.completing import fire_trees
from cepheid.kernel.detectors import (
    fire_detectors,
    mark_detectors,
    move_detectors,
    see_detectors,
)
from cepheid.kernel.few import listed
from cepheid.kernel.found import (
    by_look,
    fixed_heads,
    fixed_labels,
    fixed_values,
    portions,
    spread_rules,
)
from cepheid.kernel.lazy import mark_trees, move_trees, see_trees
from cepheid.kernel.runs import mark_runs, move_runs, see_runs
from cepheid.kernel.store import begin_compaction, finish_compaction
from cepheid.kernel.stream import feed, pass_time
from cepheid.kernel.texts import code_places, code_texts, fill_table, gather_texts
from cepheid.kernel.varied import varied_heads, varied_values

PATTERNS = (Tree, Run, Collection, Detector)
"""The strategies by what they are for, in the order in which compiled code has them."""

Flags = tuple[int | None, ...]
"""For every strategy 1 if compiled code must contain it, else None."""

_INT: Any = types.int64
_FLAG: Any = types.boolean
_MEMORY = _INT
_TAGS = types.uint8[:, ::1]
_CELLS = _INT[:, ::1]
_BYTES = types.uint8[::1]
_GIVEN: Any = types.Array(types.uint8, 1, "C", readonly=True)
_WORD: Any = types.uint64
_TEXTS = (_WORD, _INT[::1], _CELLS, _BYTES, _WORD[::1], _INT[::1])
_ROW, _NOW, _ALONE = (_MEMORY, _INT), (_MEMORY, _INT), (_MEMORY,)

_PARTS: dict[type, tuple[tuple[str, Callable[..., object], tuple[Any, ...]], ...]] = {
    Tree: (
        ("trees: search", see_trees, _ROW),
        ("trees: deadlines", fire_trees, _NOW),
        ("trees: expiry", mark_trees, _NOW),
        ("trees: expiry", move_trees, _ALONE),
    ),
    Run: (
        ("runs: watching", see_runs, _ROW),
        ("runs: expiry", mark_runs, _NOW),
        ("runs: expiry", move_runs, _ALONE),
    ),
    Collection: (
        ("collections: search", see_collections, _ROW),
        ("collections: expiry", mark_collections, _NOW),
        ("collections: expiry", move_collections, _ALONE),
    ),
    Detector: (
        ("detectors: branches", see_detectors, _ROW),
        ("detectors: timers", fire_detectors, _NOW),
        ("detectors: expiry", mark_detectors, _NOW),
        ("detectors: expiry", move_detectors, _ALONE),
    ),
}
_SHARED: tuple[tuple[str, Callable[..., object], tuple[Any, ...]], ...] = (
    ("matches as columns", by_look, (_MEMORY, _INT[::1], _INT)),
    ("matches as columns", portions, (_MEMORY, _INT[::1])),
    ("matches as columns", spread_rules, (_MEMORY, _INT[::1])),
    ("matches as columns", fixed_labels, (_MEMORY, _INT[::1], _INT)),
    ("matches as columns", fixed_heads, (_MEMORY, _INT[::1], _FLAG, _INT)),
    ("matches as columns", fixed_values, (_MEMORY, _INT[::1], _CELLS, _INT[::1])),
    ("matches as columns", varied_heads, (_MEMORY, _INT[::1], _FLAG)),
    ("matches as columns", varied_values, (_MEMORY, _INT[::1], _INT)),
    ("few matches", listed, (_MEMORY, _INT[::1], _INT[::1], _CELLS, _INT[::1])),
    ("texts", code_texts, (_INT[::1], _GIVEN, _INT, _INT[::1], *_TEXTS)),
    ("texts", code_places, (_INT[::1], _INT[::1], _INT[::1], _GIVEN, _INT, _INT[::1], *_TEXTS)),
    ("texts", fill_table, (_INT, _CELLS, _BYTES, _WORD[::1], _WORD)),
    ("texts", gather_texts, (_INT[::1], _CELLS, _BYTES)),
    ("events that are kept", begin_compaction, _ALONE),
    ("events that are kept", finish_compaction, _ALONE),
)
_STREAM = "the stream"
"""It is compiled last, as it calls everything else."""
_ELSEWHERE = (Run, Detector)
"""About half of the work where all strategies are compiled."""
_PARTS_OF, _EACH_OF = "parts", "each"
"""What the second process does with them; for nobody else."""
_ready: set[Flags] = set()


def flags(patterns: Iterable[type]) -> Flags:
    """What compiled code must contain for rules with such patterns.

    One strategy alone, or all of them: every set of strategies is compiled for itself.
    """
    used = set(patterns)
    if len(used) > 1:
        used = set(PATTERNS)
    return tuple(1 if pattern in used else None for pattern in PATTERNS)


def make_ready(strategies: Flags) -> None:
    """See to it that compiled code for these strategies is there."""
    if strategies in _ready:
        return
    mark = _mark(strategies)
    if not mark.exists():
        # One process compiles, and the others wait for it, such as the workers of a Spark job.
        with locked(mark.parent, f"compiling-{written(strategies)}", _say_waiting):
            if not mark.exists():
                _compile(strategies)
            # A disk that cannot be written costs the next process the time again, nothing else.
            with suppress(OSError):
                mark.touch()
    _ready.add(strategies)


def load(strategies: Flags) -> None:
    """Load compiled code now, if it is there, rather than at its first use."""
    if len(strategies) == len(PATTERNS) and _mark(strategies).exists():
        for _, function, signature in _parts(strategies):
            function.compile(signature)  # type: ignore[attr-defined]  # numba adds it


def written(strategies: Flags) -> str:
    """Strategies as digits."""
    return "".join("0" if strategy is None else "1" for strategy in strategies)


def _mark(strategies: Flags) -> Path:
    """The mark of what is compiled; numba keeps code apart by where the package lies."""
    place = hashlib.blake2b(__file__.encode(), digest_size=8).hexdigest()
    return Path(cache_folder("ready")) / f"ready-{written(strategies)}-{place}"


def _parts(strategies: Flags) -> Iterator[tuple[str, Callable[..., object], tuple[Any, ...]]]:
    for pattern, used in zip(PATTERNS, strategies, strict=True):
        yield from _PARTS[pattern] if used else ()
    yield from _SHARED
    chosen = tuple(types.none if used is None else _INT for used in strategies)
    columns = (*(_INT[::1] for _ in range(4)), _TAGS, _CELLS)
    yield _STREAM, pass_time, (_MEMORY, _INT, *chosen)
    yield _STREAM, feed, (_MEMORY, *columns, _INT, *chosen)


def _compile(strategies: Flags) -> None:
    parts, begin = list(_parts(strategies)), time.monotonic()
    _say("cepheid: compiling the engine, once on this machine; this takes a minute or two")
    with _beside(strategies) as elsewhere:
        # What another process compiles is taken from the disk when it is there.
        later = [part for pattern in elsewhere for part in _PARTS[pattern]]
        last = [part for part in parts if part[0] == _STREAM]
        first = [part for part in parts if part not in later and part not in last]
        for number, (name, function, signature) in enumerate(first):
            _say(f"cepheid: compiling {number + 1} of {len(parts)}, {name}")
            function.compile(signature)  # type: ignore[attr-defined]  # numba adds it
    for number, (name, function, signature) in enumerate([*later, *last], len(first)):
        _say(f"cepheid: compiling {number + 1} of {len(parts)}, {name}")
        function.compile(signature)  # type: ignore[attr-defined]  # numba adds it
    _say(f"cepheid: compiled in {time.monotonic() - begin:.0f} s, and kept for the next time")


@contextmanager
def _beside(strategies: Flags) -> Iterator[tuple[type, ...]]:
    """Let a second process compile some strategies, where there is a core for it."""
    if None in strategies or cores_of(None) == 1:
        yield ()
        return
    with _another_process(_PARTS_OF) as there:
        yield _ELSEWHERE if there else ()


@contextmanager
def _another_process(what: str) -> Iterator[bool]:
    """Let another process do something with the strategies that are compiled elsewhere."""
    try:
        command = [sys.executable, "-m", "cepheid.kernel.ready", what]
        process = subprocess.Popen(command)  # noqa: S603 (our own code)
    except OSError:
        yield False
        return
    try:
        yield True
        process.wait()  # whatever became of it: what is not on the disk is compiled here
    finally:
        process.kill()
        process.wait()


def _compile_parts(patterns: Iterable[type]) -> None:
    """Compile what strategies consist of, for a process that waits for it."""
    for pattern in patterns:
        for _, function, signature in _PARTS[pattern]:
            function.compile(signature)  # type: ignore[attr-defined]  # numba adds it


def _compile_each(patterns: Iterable[type]) -> None:
    """Compile strategies for rules that need no other."""
    for pattern in patterns:
        make_ready(flags([pattern]))


def _compile_everything() -> None:
    """All strategies together, then each alone, on two cores where there are two."""
    make_ready(flags(PATTERNS))
    if all(_mark(flags([pattern])).exists() for pattern in PATTERNS):
        return
    if cores_of(None) > 1:
        with _another_process(_EACH_OF):
            _compile_each(pattern for pattern in PATTERNS if pattern not in _ELSEWHERE)
    _compile_each(PATTERNS)


def _say_waiting() -> None:
    _say("cepheid: another process compiles the engine; waiting for it")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 (the user waits, and wants to know)


if __name__ == "__main__":
    if sys.argv[1:] == [_PARTS_OF]:
        _compile_parts(_ELSEWHERE)
    elif sys.argv[1:] == [_EACH_OF]:
        _compile_each(_ELSEWHERE)
    else:
        _compile_everything()
