"""The user that runs a scenario, on a machine whose wall clock is 200 s ahead."""

from __future__ import annotations

import time

from harness.locust import ScenarioUser

_now = time.time
time.time = lambda: _now() + 200


class Scenario(ScenarioUser):
    """See ``ScenarioUser``."""
