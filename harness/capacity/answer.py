"""What a search came to, in numbers and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from harness.capacity.search import Search
from harness.version import __version__
from reports.capacity.search import Capacity, Chance, End
from reports.capacity.words import interval_words, load_words
from reports.result import Verdict
from reports.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.capacity.search import Limits
    from reports.capacity.search import Probe

_KNEE_POINTS: Final = 81


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a search is about; attributes as in ``Capacity``."""

    scenario_name: str
    scenario: dict[str, object]
    key: str
    unit: str
    objectives: tuple[str, ...]
    base_url: str
    model: str
    started_at: str


def answer(
    question: Question,
    limits: Limits,
    probes: Sequence[Probe],
    end: End,
    *,
    interrupted: str | None = None,
    fault: str | None = None,
    notes: Sequence[str] = (),
) -> Capacity:
    """The result, as far as the probes go.

    Args:
        question: What the search is about.
        limits: What it may do.
        probes: Those that were made.
        end: Why there are no more.
        interrupted: The signal that ended it.
        fault: What went wrong, where that ended it.
        notes: What the reader must know besides.
    """
    search = Search(limits, probes)
    low, high = search.interval
    capacity = Capacity(
        **msgspec.structs.asdict(question),
        tool_version=__version__,
        confidence=limits.confidence,
        end=end,
        sentence="",
        estimate=search.estimate,
        low=low,
        high=high,
        best_pass=search.best_pass,
        least_fail=search.least_fail,
        precision=limits.precision,
        duration_s=sum(probe.duration_s for probe in probes),
        probes=tuple(probes),
        knee=_knee(search, probes),
        notes=(*notes, *_contradictions(search)),
        interrupted=interrupted,
    )
    sentence = _sentence(capacity, limits) if fault is None else _broken(capacity, fault)
    return msgspec.structs.replace(capacity, sentence=sentence)


def _knee(search: Search, probes: Sequence[Probe]) -> tuple[Chance, ...]:
    """From the smallest load to the largest, evenly on the logarithmic scale."""
    if search.sure is None:
        return ()
    loads = [probe.load for probe in probes]
    low, high = math.log(min(loads)), math.log(max(loads))
    places = (
        [low + (high - low) * i / (_KNEE_POINTS - 1) for i in range(_KNEE_POINTS)] if high > low else [low]
    )
    return tuple(
        Chance(load=math.exp(place), chance=search.sure.chance_at_least(math.exp(place))) for place in places
    )


def _contradictions(search: Search) -> tuple[str, ...]:
    if search.best_pass is None or search.least_fail is None or search.best_pass < search.least_fail:
        return ()
    note = (
        f"a probe passed at {search.best_pass:g} and one failed at {search.least_fail:g}: the server isn't "
        "the same at all times, or chance struck; the interval allows for both"
    )
    return (note,)


def _sentence(capacity: Capacity, limits: Limits) -> str:
    return {
        End.PRECISION: _found,
        End.TOP: _top,
        End.BOTTOM: _bottom,
        End.BUDGET: _spent,
        End.INVALID: _invalid,
        End.INTERRUPTED: _interrupted,
    }[capacity.end](capacity, limits)


def _found(capacity: Capacity, limits: Limits) -> str:
    del limits
    return f"The objectives hold up to {interval_words(capacity)}."


def _top(capacity: Capacity, limits: Limits) -> str:
    assert limits.highest is not None
    return (
        f"The objectives hold at {load_words(limits.highest, capacity.unit)}, the most that was to be tried; "
        "the capacity is that or more."
    )


def _bottom(capacity: Capacity, limits: Limits) -> str:
    return (
        f"The objectives are missed even at {load_words(limits.lowest, capacity.unit)}, the least that was "
        f"to be tried: {_last_reason(capacity, Verdict.FAIL)}"
    )


def _spent(capacity: Capacity, limits: Limits) -> str:
    what = (
        f"{len(capacity.probes)} probes are spent"
        if len(capacity.probes) >= limits.max_probes
        else f"the next probe would not fit into {duration(limits.max_time_s)}"
    )
    return (
        f"Not known as well as was asked for: {what}, and the capacity is {interval_words(capacity)}; raise "
        "the budget and go on with --output, or make the scenario longer."
    )


def _invalid(capacity: Capacity, limits: Limits) -> str:
    del limits
    reason = _last_reason(capacity, Verdict.INVALID)
    if capacity.best_pass is None:
        return f"Nothing can be said: {reason}"
    least = min(probe.load for probe in capacity.probes if probe.verdict is Verdict.INVALID)
    return (
        f"The capacity is {interval_words(capacity)}; probes from {load_words(least, capacity.unit)} on "
        f"can't be trusted: {reason}"
    )


def _interrupted(capacity: Capacity, limits: Limits) -> str:
    del limits
    so_far = interval_words(capacity)
    return f"Broken off; as far as the probes tell, the capacity is {so_far}. Go on with --output."


def _broken(capacity: Capacity, fault: str) -> str:
    head = f"Broken off: {fault}" + ("" if fault.endswith("?") else ".")
    return (
        f"{head} As far as the probes tell, the capacity is {interval_words(capacity)}; go on with --output."
    )


def _last_reason(capacity: Capacity, verdict: Verdict) -> str:
    return next((p.reason for p in reversed(capacity.probes) if p.verdict is verdict), "")
