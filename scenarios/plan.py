"""From the sections of a scenario to its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.arrivals import OpenLoop
from scenarios.errors import ScenarioError
from scenarios.exact_lengths import check
from scenarios.request import Arrival, LaterTurn, Prompt
from scenarios.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.arrivals import Arrivals
    from scenarios.prompts import PromptSource, PromptStream
    from scenarios.request import FollowUp
    from scenarios.sampling import Sampling
    from scenarios.schedule import Schedule
    from scenarios.tokenizers import TokenCounter

CHAT_ENDPOINTS: Final = ("chat", "responses")
"""Those that take conversations."""


def plan(
    load: Arrivals,
    source: PromptSource,
    sampling: Sampling,
    *,
    endpoint: str,
    seed: int,
    counter: TokenCounter | None = None,
) -> Schedule:
    """The schedule of a run. Its times, prompts and body fields each have a source of chance of their own.

    Raises:
        ScenarioError: The prompts can't be read, there are none, or the endpoint doesn't take them.
    """
    stream = source.open(generator(seed, "prompts"), counter)
    if stream.chat_only and endpoint not in CHAT_ENDPOINTS:
        raise ScenarioError(
            f"prompts: some are conversations, which the {endpoint} endpoint doesn't take; use endpoint: chat"
        )
    if load.think_time is not None and not stream.multi_turn:
        raise ScenarioError(
            "load: think_time belongs to conversations, and these prompts are none; "
            "use prompts: {source: conversation}, or take it out"
        )
    if counter is not None and stream.wording is not None and stream.wording.in_tokens:
        stream = check(stream, counter, _wanted(load, seed), load.num_requests)
    total = _total(load.num_requests, stream)
    arrivals = Numbering(load, sampling, seed).arrivals(stream)
    notes = (*stream.notes, *_wishes(stream, endpoint, sampling), *_repeats(load.num_requests, stream))
    return load.plan(arrivals, total, notes)


class Numbering:
    """Puts prompts, times and body fields together, and numbers the requests.

    The fields of a request depend on its number alone, whoever sends it and when.
    """

    def __init__(self, load: Arrivals, sampling: Sampling, seed: int) -> None:
        self._times = load.times(generator(seed, "arrivals"))
        self._bodies = sampling.bodies(generator(seed, "sampling"))
        self._cancels = load.cancels(generator(seed, "cancel"))
        self._think_times = load.think_times(generator(seed, "think_time"))
        self._num_requests = 0

    def arrivals(self, stream: PromptStream) -> Iterator[Arrival]:
        """An arrival for each prompt, as long as there are times."""
        for number, (due_ns, prompt) in enumerate(zip(self._times, stream.prompts, strict=False)):
            yield Arrival(
                **self._request(prompt),
                due_ns=due_ns,
                prompt=prompt,
                conversation=number if stream.multi_turn else None,
                later=tuple(self._later(each) for each in prompt.follow_ups),
            )

    def _later(self, follow_up: FollowUp) -> LaterTurn:
        stated_ns = next(self._think_times)
        think_ns = follow_up.think_ns or 0 if stated_ns is None else stated_ns
        return LaterTurn(**self._request(follow_up), follow_up=follow_up, think_ns=think_ns)

    def _request(self, asked: Prompt | FollowUp) -> dict[str, Any]:
        index, self._num_requests = self._num_requests, self._num_requests + 1
        return {
            "index": index,
            "sampling": _with_wishes(asked, next(self._bodies)),
            "cancel_after_ns": next(self._cancels),
        }


def _with_wishes(asked: Prompt | FollowUp, body: dict[str, Any]) -> dict[str, Any]:
    """The scenario's own limit and fields win over those of the prompt's source."""
    limit = {} if asked.max_tokens is None else {"max_tokens": asked.max_tokens}
    own = asked.fields if isinstance(asked, Prompt) else {}
    return {**limit, **own, **body}


def _wishes(stream: PromptStream, endpoint: str, sampling: Sampling) -> Iterator[str]:
    """What of a data set's own requests is sent, and what isn't."""
    if stream.written_for not in (None, endpoint):
        yield f"the prompts were written for the {stream.written_for} endpoint and go to {endpoint}"
    for field, num in sorted(stream.own_fields.items()):
        fate = "not sent, as sampling states another" if field in sampling.stated else "sent with each"
        yield f"{field} stated by the data set for {_prompts(num)}: {fate}"


def _wanted(load: Arrivals, seed: int) -> int | None:
    """How many prompts it will take at the most; None where only the answers decide."""
    if load.num_requests is not None or not isinstance(load, OpenLoop):
        return load.num_requests
    return sum(1 for _ in load.times(generator(seed, "arrivals")))


def _total(requests: int | None, stream: PromptStream) -> int | None:
    if stream.repeats or stream.num_requests is None:
        return requests
    return min(requests or stream.num_requests, stream.num_requests)


def _repeats(requests: int | None, stream: PromptStream) -> Iterator[str]:
    available = stream.num_requests
    if available is None or (requests is not None and requests <= available):
        return
    wanted = "all requests" if requests is None else f"{requests} requests"
    if stream.repeats:
        yield f"{_prompts(available)} for {wanted}: repeated; a prefix cache may answer repeats faster"
    else:
        yield f"{_prompts(available)} for {wanted}: the run ends after the last prompt"


def _prompts(number: int) -> str:
    return "1 prompt" if number == 1 else f"{number} prompts"
