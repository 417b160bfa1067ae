"""Capture: a match, or its absence, from real data becomes a case of a spec file.

The rules run over the whole history in the engine. What matters for the match is taken out, run
again by the oracle, and written down only if that finds the same match.
"""

from cepheid.capture.cases import CASE_LIMIT
from cepheid.capture.history import History
from cepheid.capture.matches import capture_match
from cepheid.capture.moments import MARGIN, capture_around

__all__ = ["CASE_LIMIT", "MARGIN", "History", "capture_around", "capture_match"]
