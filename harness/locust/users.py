"""The user classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gevent.event import Event
from locust import User, task
from locust.exception import StopUser
from locust.runners import WorkerRunner

from harness.locust.llm import LLM
from harness.locust.sessions import session_of

if TYPE_CHECKING:
    from locust.env import Environment


class LLMUser(User):
    """A user whose tasks ask a language model: subclass it as any of Locust's.

    Tasks, weights, tags, think times, shapes and other user classes beside it are Locust's own. The requests
    of all of them are one run of the harness, in a closed loop: due when a task asks.

    Attributes:
        llm: Asks, and waits for the answer.
    """

    abstract = True

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        asking = session_of(environment).asking
        assert asking is not None  # a scenario with a load of its own has no such users
        self.llm = LLM(asking, self.context)


class ScenarioUser(User):
    """Runs a scenario with the scenario's own load. There is one of it, however many users Locust is told of.

    It waits while the engine sends, so that Locust's test lasts as long as the run.
    """

    abstract = True
    fixed_count = 1

    @task
    def run_scenario(self) -> Any:  # noqa: ANN401 (Locust looks at no value)
        """Wait until the run is over; in a worker, until the master says so."""
        if isinstance(self.environment.runner, WorkerRunner):
            Event().wait()
        session_of(self.environment).engine.wait()
        raise StopUser
