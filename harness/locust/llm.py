"""What a user asks the server with."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from gevent.event import AsyncResult
from locust.exception import StopUser

from harness.drivers.requested import NotTakenError, Requests
from harness.locust.answer import Answer
from scenarios.request import Message, Prompt
from scenarios.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.record import Record
    from scenarios.scenario import Scenario


class Ended(NamedTuple):
    """A request that has ended.

    Attributes:
        answer: What became of it; None where it was never sent.
        name: Of its rows in Locust's statistics.
        context: For listeners of Locust's event.
        waiting: Whoever waits for it.
    """

    answer: Answer | None
    name: str
    context: Mapping[str, Any]
    waiting: AsyncResult

    def tell(self) -> None:
        """Let the greenlet go on that waits."""
        self.waiting.set(self.answer)

    def fail(self, error: Exception) -> None:
        """Have it raise what a listener of Locust's event has raised, as its own clients do."""
        self.waiting.set_exception(error)


class Asking:
    """Takes questions from greenlets and hands them to the engine, for one run.

    Args:
        scenario: Its endpoint names the rows, its sampling holds for every request that states nothing else.
        put: Told of each request that has ended, on the engine's thread.

    Attributes:
        requests: For the engine.
        is_ending: Whether Locust stops its users just now, so that what they leave is the run's end.
    """

    def __init__(self, scenario: Scenario, put: Callable[[Ended], None]) -> None:
        self.requests = Requests()
        self.is_ending = False
        self._put = put
        self._name = scenario.endpoint
        self._bodies = scenario.sampling.bodies(generator(scenario.seed, "sampling"))

    def ask(
        self, prompt: Prompt, name: str | None, fields: Mapping[str, Any], context: Mapping[str, Any]
    ) -> Answer:
        """Send it and wait for the answer. A greenlet that is killed meanwhile gives the request up.

        Raises:
            StopUser: The run takes no more requests.
        """
        waiting: AsyncResult = AsyncResult()
        told = functools.partial(self._told, name or self._name, context, waiting)
        try:
            index = self.requests.ask(prompt, {**next(self._bodies), **fields}, told)
        except NotTakenError as error:
            raise StopUser from error
        try:
            answer = waiting.get()
        except BaseException:
            self.requests.give_up(index, by_end=self.is_ending)
            raise
        if answer is None:
            raise StopUser
        assert isinstance(answer, Answer)
        return answer

    def _told(
        self, name: str, context: Mapping[str, Any], waiting: AsyncResult, record: Record | None, said: str
    ) -> None:
        self._put(Ended(None if record is None else Answer(said, record), name, context, waiting))


class LLM:
    """A user's way to the server.

    Args:
        asking: Of the run.
        context: Of the user, for listeners of Locust's ``request`` event.
    """

    def __init__(self, asking: Asking, context: Callable[[], Mapping[str, Any]]) -> None:
        self._asking = asking
        self._context = context

    def ask(
        self, prompt: str | Sequence[Mapping[str, str]], *, name: str | None = None, **fields: object
    ) -> Answer:
        """Send one request and wait until its answer is whole, or it has failed.

        Args:
            prompt: A text, or the messages of a conversation, each with ``role`` and ``content``.
            name: Of its rows in Locust's statistics; that of the endpoint by default.
            fields: Body fields, such as ``max_tokens``; they win over those of the scenario's sampling.

        Raises:
            StopUser: The run takes no more requests.
        """
        return self._asking.ask(_prompt(prompt), name, fields, self._context())


def _prompt(prompt: str | Sequence[Mapping[str, str]]) -> Prompt:
    if isinstance(prompt, str):
        return Prompt(text=prompt)
    return Prompt(messages=tuple(Message(role=each["role"], content=each["content"]) for each in prompt))
