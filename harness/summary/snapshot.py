"""A run as it is judged and shown: nothing of it changes any more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.quality.figures import Quality
    from harness.series import Series
    from harness.summary.due_order import Ordered
    from harness.summary.token_arrivals import IntArray
    from harness.telemetry.server_samples import ServerSamples
    from reports.histogram import Histogram
    from reports.result import Rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The measured window of a run.

    Attributes:
        loop: ``open`` or ``closed``.
        capped: Whether requests waited for a place in flight on purpose.
        window_ns: Its start and end.
        pace: Requests per second as due and as sent; None in a closed loop and for fewer than two.
        num_requests: Requests of the whole run.
        num_succeeded: Of the measured ones.
        num_failed: Of the measured ones.
        num_cut: Of the measured ones, cut off by the end of the run.
        cut_waits_ns: For how long each of these had waited by then, from its due time, sorted.
        histograms: By series, in histogram units (``harness.recorder.step``).
        reasons: By series, why there is no sample; None where there is one.
        num_unfit: Values that no histogram could hold, by series.
        client_errors: By series, how far the harness moved its values, in ns; None where it didn't or where
            nothing is known of it.
        rates: Rates and shares by name.
        counts: By name of the rate per second, what was counted in each slice of the window.
        slice_s: Length of these slices.
        due_order: What of the requests in order of due time bears on the rules.
        server: What the server said of itself; None where that is not known (yet).
        quality: What the server expected of a text before the load; None where that was not asked.
        estimate: What is to be said of output tokens that the server didn't count; None if it counted all.
    """

    loop: str
    capped: bool
    window_ns: tuple[int, int]
    pace: tuple[float, float] | None
    num_requests: int
    num_succeeded: int
    num_failed: int
    num_cut: int
    histograms: Mapping[Series, Histogram]
    reasons: Mapping[Series, str | None]
    num_unfit: Mapping[Series, int]
    client_errors: Mapping[Series, float | None]
    rates: Mapping[str, Rate]
    counts: Mapping[str, IntArray]
    slice_s: float
    due_order: Ordered
    estimate: str | None = None
    server: ServerSamples | None = None
    quality: Quality | None = None
    cut_waits_ns: tuple[int, ...] = ()
