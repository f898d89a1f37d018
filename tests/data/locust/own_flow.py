"""Users as people write them: one that asks a model, an ordinary one beside it, and a shape that ends."""

from __future__ import annotations

from locust import HttpUser, LoadTestShape, constant, tag, task

from harness.locust import LLMUser

SLOW = {"role": "arrival", "ttft": "500ms", "gap": "100ms", "tokens": 21}
"""The head and the role at once, the first token after 500 ms, the last after 2.5 s."""


class Asker(LLMUser):
    """Asks one question after another."""

    wait_time = constant(0.1)

    @tag("slow")
    @task
    def ask(self) -> None:
        """One answer, which has a text."""
        answer = self.llm.ask("three short words", name="slow", max_tokens=21, timetable=SLOW)
        assert answer.ok
        assert answer.text

    @tag("other")
    @task(1_000)
    def never(self) -> None:
        """Left out by its tag."""
        self.llm.ask("three short words", name="other")


class Visitor(HttpUser):
    """Knows nothing of models."""

    wait_time = constant(0.1)

    @tag("slow")
    @task
    def look(self) -> None:
        """One plain request."""
        self.client.get("/v1/models")


class FourSeconds(LoadTestShape):
    """Two of each, then the end."""

    def tick(self) -> tuple[int, float] | None:
        """See ``LoadTestShape``."""
        return (4, 4) if self.get_run_time() < 3.5 else None
