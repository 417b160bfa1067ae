"""Hypothesis settings: how many examples a property tries, and no deadline on a busy machine."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("CEPHEID_EXAMPLES", "300"))

settings.register_profile(
    "cepheid",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="CEPHEID_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("cepheid")
