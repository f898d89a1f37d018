"""The spine of a comparison: sides -> differences -> effects -> verdicts -> document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.comparison.allowance import Allowances
from harness.comparison.effects import effects
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import usual_figures
from harness.comparison.identity import Difference, differences, unknown_keys
from harness.comparison.judging import judge
from harness.comparison.resampling import TIMES
from harness.comparison.side import NS
from harness.version import __version__
from reports.comparison import document
from reports.comparison.document import Change, Comparison
from reports.curves import curve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.comparison.figure import Figure
    from harness.comparison.past_run import PastRun
    from harness.comparison.side import Side

SEED: Final = 0
_WORST_FIRST: Final = (
    Change.INVALID,
    Change.REGRESSION,
    Change.UNDECIDED,
    Change.IMPROVED,
    Change.NO_DIFFERENCE,
)
_MAX_TEXT: Final = 80


def compare(
    a: Side,
    b: Side,
    *,
    figures: Sequence[Figure] = (),
    allowances: Allowances | None = None,
    confidence: float = 0.95,
    across: Iterable[str] = (),
    seed: int = SEED,
    times: int = TIMES,
) -> Comparison:
    """Hold B against A.

    Args:
        a: The one before.
        b: The one after.
        figures: What to compare; all the usual ones by default.
        allowances: How much worse each may be.
        confidence: 0.5 <= confidence < 1.
        across: Keys that may differ although they matter: ``model``, ``load.rate``.
        seed: Of the resampling.
        times: How often to resample.

    Raises:
        ComparisonError: The confidence or one of the keys can't be used.
    """
    across = tuple(across)
    _check(a, b, confidence, across)
    found = tuple(_differences(a, b, across))
    causes = (*_causes(found), *_faults(a, b))
    figures = tuple(figures) or usual_figures()
    pairs = _are_pairs(a, b, found)
    judged: tuple[document.Figure, ...] = ()
    if not causes:
        measured = list(effects(a, b, figures, pairs=pairs, seed=seed, times=times))
        judged = judge(_with_objectives(measured, found), a, b, allowances or Allowances(), confidence)
    return Comparison(
        tool_version=__version__,
        verdict=_worst(judged) if not causes else Change.INVALID,
        causes=causes,
        a=_side(a),
        b=_side(b),
        confidence=confidence,
        method=_method(a, b, pairs=pairs, times=times),
        figures=judged,
        differences=tuple(_told(each) for each in found),
        notes=tuple(_notes(a, b, found, pairs=pairs)),
    )


def _check(a: Side, b: Side, confidence: float, across: tuple[str, ...]) -> None:
    if not 0.5 <= confidence < 1:
        raise ComparisonError(f"confidence {confidence:g}: give at least 0.5 and less than 1, such as 0.95")
    if any(run.same_as(other) for run in a.runs for other in b.runs):
        raise ComparisonError(f"{a.label} and {b.label} hold the same run, which can't differ from itself")
    for fault in unknown_keys(across, *(run.identity.keys for run in (*a.runs, *b.runs))):
        raise ComparisonError(fault)


def _differences(a: Side, b: Side, across: tuple[str, ...]) -> Iterator[Difference]:
    """Of every run from the first one of A, each key once."""
    seen = set()
    for run in (*b.runs, *a.runs[1:]):
        for each in differences(a.runs[0].identity.keys, run.identity.keys, across):
            if each.key not in seen:
                seen.add(each.key)
                yield each


def _causes(found: Iterable[Difference]) -> Iterator[str]:
    keys = [each for each in found if each.matters]
    if not keys:
        return
    named = "; ".join(
        f"{each.key}: {_text(each.a) or 'not set'} against {_text(each.b) or 'not set'}" for each in keys
    )
    yield (
        f"the runs were not asked the same ({named}): run the same scenario, or allow it with "
        f"--across {keys[0].key}"
    )


def _faults(a: Side, b: Side) -> Iterator[str]:
    for side in (a, b):
        for run in side.runs:
            for fault in run.identity.faults:
                yield f"{side.label}, run of {run.identity.started_at}: {fault}"


def _are_pairs(a: Side, b: Side, found: Iterable[Difference]) -> bool:
    """Whether two single runs sent the same requests in the same order."""
    same = not any(
        each.key == "seed" or each.key.startswith(("load.", "prompts.", "sampling.")) for each in found
    )
    return same and len(a.runs) == 1 and len(b.runs) == 1


def _with_objectives(measured: list[Any], found: Iterable[Difference]) -> list[Any]:
    """Goodput by other objectives is another number."""
    if not any(each.key == "objectives" for each in found):
        return measured
    reason = "the runs have other objectives, so a good request is not the same"
    return [
        each._replace(effect=None, a=None, b=None, reason=reason)
        if each.figure.metric in ("goodput", "attainment")
        else each
        for each in measured
    ]


def _worst(judged: Iterable[document.Figure]) -> Change:
    verdicts = {figure.verdict for figure in judged}
    return next((each for each in _WORST_FIRST if each in verdicts), Change.INVALID)


def _method(a: Side, b: Side, *, pairs: bool, times: int) -> str:
    if len(a.runs) > 1 or len(b.runs) > 1:
        return "by run: jackknife over the runs, Student's t on the logarithm (Welch)"
    how = "the same requests drawn on both sides" if pairs else "each side drawn by itself"
    return f"by request: {times:,} block bootstraps, {how}, Student's t on the logarithm"


def _notes(a: Side, b: Side, found: Iterable[Difference], *, pairs: bool) -> Iterator[str]:
    if len(a.runs) == 1 and len(b.runs) == 1:
        yield (
            "one run on each side: how runs differ among themselves is in no interval; five runs on each "
            "side, taken in turn, would show it"
        )
    elif 1 in (len(a.runs), len(b.runs)):
        yield "one side is a single run: it is taken to vary from run to run as the other side does"
    if not pairs and len(a.runs) == len(b.runs) == 1:
        yield "the runs did not send the same requests, so that what comes from these is in the intervals too"
    across = [
        each.key for each in found if each.key.partition(".")[0] in ("model", "load", "prompts", "sampling")
    ]
    if across:
        yield f"compared although not the same: {', '.join(across)}"


def _told(difference: Difference) -> document.Difference:
    return document.Difference(
        key=difference.key, a=_text(difference.a), b=_text(difference.b), matters=difference.matters
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _side(side: Side) -> document.Side:
    return document.Side(
        label=side.label,
        runs=tuple(map(_run, side.runs)),
        curves=tuple(
            curve(histogram, name, None, "ns", NS)
            for name, histogram in side.histograms.items()
            if histogram.n
        ),
    )


def _run(run: PastRun) -> document.Run:
    identity = run.identity
    return document.Run(
        scenario_name=identity.name,
        model=str(identity.keys.get("model") or ""),
        base_url=str(identity.keys.get("base_url") or ""),
        started_at=identity.started_at,
        num_requests=identity.num_requests,
        duration_s=identity.duration_s,
        seed=int(identity.seed or 0),
    )
