"""By what factor a figure of a variant should differ from that of the first one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from harness.lab.cost_model import Expected, Work, expect, machine

if TYPE_CHECKING:
    from harness.lab.experiment import Experiment
    from scenarios.request import Arrival
    from scenarios.schedule import Schedule

E2E: Final = "e2e mean"
_OF_DURATION: Final = ("goodput", "request_rate", "output_token_rate")
_MAX_REQUESTS: Final = 1_000
_CHARACTERS_OF_A_TOKEN: Final = 4.5


def predicted(experiment: Experiment) -> list[dict[str, Expected]]:
    """What each variant should come to, at each point; empty mappings where there is nothing to go by.

    That needs costs, a closed loop of so many requests, and answers of known lengths.
    """
    return [_at(experiment, point) for point in range(len(experiment.points))]


def _at(experiment: Experiment, place: int) -> dict[str, Expected]:
    schedule = experiment.scenario_at(experiment.points[place]).schedule()
    works = _works(schedule)
    if experiment.costs is None or schedule.concurrency is None or not works:
        return {}
    free_rows = experiment.costs.free_rows
    return {
        name: expect(works, schedule.concurrency, machine(experiment.settings(name), free_rows))
        for name in experiment.variants
    }


def factor(figure: str, of: Expected, against: Expected) -> float | None:
    """The predicted change of a figure; None where the model says nothing of it."""
    if figure in _OF_DURATION:
        return against.duration / of.duration
    return of.mean_e2e / against.mean_e2e if figure == E2E else None


def _works(schedule: Schedule) -> list[Work]:
    """Empty where one of the answers has no known length, or there is no end of them."""
    if schedule.num_requests is None or schedule.num_requests > _MAX_REQUESTS:
        return []
    found = [_work(arrival) for arrival in itertools.islice(schedule.arrivals, schedule.num_requests)]
    known = [work for work in found if work is not None]
    return known if len(known) == len(found) else []


def _work(arrival: Arrival) -> Work | None:
    limit, prompt = arrival.sampling.get("max_tokens", arrival.prompt.max_tokens), arrival.prompt
    if limit is None:
        return None
    texts = [message.content for message in prompt.messages or ()] or [prompt.text or ""]
    guessed = round(sum(map(len, texts)) / _CHARACTERS_OF_A_TOKEN)
    return Work(num_prompt_tokens=max(1, prompt.num_tokens or guessed), num_output_tokens=limit)
