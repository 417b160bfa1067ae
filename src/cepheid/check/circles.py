"""Circles: what can be reached from itself, in time that grows with the number of edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Edges = Mapping[str, set[str]]


def circular(feeds: Edges) -> set[str]:
    """The nodes that lie on a circle (strongly connected components, by two searches).

    >>> sorted(circular({"A": {"B"}, "B": {"A", "C"}, "C": {"D"}, "D": {"D"}}))
    ['A', 'B', 'D']
    """
    back: dict[str, set[str]] = {}
    for node, targets in feeds.items():
        for target in targets:
            back.setdefault(target, set()).add(node)
    found: set[str] = set()
    seen: set[str] = set()
    for start in reversed(list(_finished(list(feeds), feeds, set()))):
        group = list(_finished([start], back, seen))
        if len(group) > 1 or start in feeds.get(start, ()):
            found.update(group)
    return found


def _finished(starts: list[str], edges: Edges, seen: set[str]) -> Iterator[str]:
    """Every node not seen before, once everything that can be reached from it is done."""
    for start in starts:
        stack = [] if start in seen else [(start, iter(edges.get(start, ())))]
        seen.add(start)
        while stack:
            targets = stack[-1][1]
            target = next((target for target in targets if target not in seen), None)
            if target is None:
                yield stack.pop()[0]
            else:
                seen.add(target)
                stack.append((target, iter(edges.get(target, ()))))
