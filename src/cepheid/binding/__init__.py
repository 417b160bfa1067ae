"""Rules written in Python: events with methods, values with operators, lowered to the algebra.

The methods have the words of the pretty language, so whatever one can say, the other can. What is
written is a *draft*, which `cepheid.load` checks and turns into `Rules`.

>>> import cepheid
>>> from cepheid.binding import attribute, event
>>> hot = event("Temp").where(attribute("value") > 45)
>>> fire = event("Smoke").preceded_by(hot, within="5 min", on="area")
>>> rules = cepheid.load(fire.gives("Fire", area=attribute("area", of="Smoke")))
>>> found = rules.detect(cepheid.parse_events('Temp@1(area="A", value=50) Smoke@9(area="A")'))
>>> [(event.type, event.attributes["area"]) for event in found]
[('Fire', 'A')]
"""

from cepheid.binding.drafts import Draft, collect, detect, watch
from cepheid.binding.events import EventTerm, anything_but, event, every, one_of, timer
from cepheid.binding.parts import Part
from cepheid.binding.values import (
    Value,
    attribute,
    average,
    first_known,
    highest,
    literal,
    lowest,
    number,
    parameter,
    total,
)
from cepheid.binding.windows import moment

__all__ = [
    "Draft",
    "EventTerm",
    "Part",
    "Value",
    "anything_but",
    "attribute",
    "average",
    "collect",
    "detect",
    "event",
    "every",
    "first_known",
    "highest",
    "literal",
    "lowest",
    "moment",
    "number",
    "one_of",
    "parameter",
    "timer",
    "total",
    "watch",
]
