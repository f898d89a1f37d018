"""From the sections of a scenario to its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.errors import ScenarioError
from scenarios.request import Arrival, Prompt
from scenarios.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.arrivals import Arrivals
    from scenarios.prompts import PromptSource, PromptStream
    from scenarios.sampling import Sampling
    from scenarios.schedule import Schedule

CHAT_ENDPOINTS: Final = ("chat", "responses")
"""Those that take conversations."""


def plan(load: Arrivals, source: PromptSource, sampling: Sampling, *, endpoint: str, seed: int) -> Schedule:
    """The schedule of a run. Its times, prompts and body fields each have a source of chance of their own.

    Raises:
        ScenarioError: The prompts can't be read, there are none, or the endpoint doesn't take them.
    """
    stream = source.open(generator(seed, "prompts"))
    if stream.chat_only and endpoint not in CHAT_ENDPOINTS:
        raise ScenarioError(
            f"prompts: some are conversations, which the {endpoint} endpoint doesn't take; use endpoint: chat"
        )
    times = load.times(generator(seed, "arrivals"))
    bodies = sampling.bodies(generator(seed, "sampling"))
    cancels = load.cancels(generator(seed, "cancel"))
    each = zip(times, stream.prompts, bodies, cancels, strict=False)
    arrivals = (
        Arrival(
            index=index,
            due_ns=due_ns,
            prompt=prompt,
            sampling=_limit(prompt, body),
            cancel_after_ns=cancel_ns,
        )
        for index, (due_ns, prompt, body, cancel_ns) in enumerate(each)
    )
    return load.plan(
        arrivals, _total(load.num_requests, stream), (*stream.notes, *_repeats(load.num_requests, stream))
    )


def _limit(prompt: Prompt, body: dict[str, Any]) -> dict[str, Any]:
    """The scenario's own limit wins over that of the prompt's source."""
    return body if prompt.max_tokens is None else {"max_tokens": prompt.max_tokens, **body}


def _total(requests: int | None, stream: PromptStream) -> int | None:
    if stream.repeats or stream.num_prompts is None:
        return requests
    return min(requests or stream.num_prompts, stream.num_prompts)


def _repeats(requests: int | None, stream: PromptStream) -> Iterator[str]:
    available = stream.num_prompts
    if available is None or (requests is not None and requests <= available):
        return
    wanted = "all requests" if requests is None else f"{requests} requests"
    if stream.repeats:
        yield f"{_prompts(available)} for {wanted}: repeated; a prefix cache may answer repeats faster"
    else:
        yield f"{_prompts(available)} for {wanted}: the run ends after the last prompt"


def _prompts(number: int) -> str:
    return "1 prompt" if number == 1 else f"{number} prompts"
