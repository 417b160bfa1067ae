"""Several at once: why composite events were found that lie close to each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cepheid.events import Event
from cepheid.why.asking import _told
from cepheid.why.results import Why
from cepheid.why.story import Setting, Story


def whys(
    setting: Setting, events: Sequence[Event], until: int, wanted: Collection[str]
) -> dict[str, Why]:
    """Why the composite events of some ids were found in events; those that were, by their ids.

    One run of the oracle serves them all, so the events should be few.
    """
    story = Story(setting, list(events), until)
    return {
        str(event.id): _told(story, event)
        for event in story.found
        if str(event.id) in wanted and event.rule in story.traces
    }
