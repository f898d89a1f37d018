"""Runs a scenario within Locust. For the command ``locust``; imported by nobody.

locust -f scenarios/locustfile.py --headless --host http://127.0.0.1:8000 --scenario chat
"""

from __future__ import annotations

from harness.locust import ScenarioUser


class Scenario(ScenarioUser):
    """The one user: it waits while the engine sends."""
