"""The oracle: what rules mean, evaluated in the most obvious way.

It is slow on purpose and shares nothing with the compiled engine. What it says is correct.
"""

from cepheid.oracle.evaluate import Outcome, evaluate

__all__ = ["Outcome", "evaluate"]
