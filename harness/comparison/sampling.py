"""From the records of a run to its sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from harness import metrics
from harness.comparison.figure import METRICS, RATES
from harness.comparison.sample import MAX_CELLS, Cells, FloatArray, IntArray, Sample, Slices
from harness.metrics import Missing
from harness.recorder import step
from harness.series import RESPONSE, series_of
from harness.summary.attainment import Attainment
from reports.hdr_layout import Layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record
    from harness.sla.rule import Rule
    from harness.terms import Terms
    from harness.window import Window
    from reports.result import Result

_LAYOUT: Final = Layout()
_MANY: Final = 1 << 19


def sample_of(
    records: Iterable[Record],
    result: Result,
    window: Window,
    rules: Iterable[Rule],
    terms: Terms,
) -> Sample:
    """The sample of a run.

    Args:
        records: All of its requests, in any order.
        result: What its report shows.
        window: What was measured.
        rules: Its objectives, which say what a good request is.
        terms: What answers were measured by.
    """
    per_cell = cell_size(result.num_requests)
    attainment = Attainment(rules, result.loop, terms)
    columns = {name: _Column(name, result.loop, per_cell) for name in METRICS}
    outcomes, good_ns = _Outcomes(per_cell), []
    for record in records:
        if not window.measures(record):
            continue
        misses = attainment.num_misses
        hit = attainment.add(record)
        outcomes.add(record, hit=hit is True, missed=attainment.num_misses > misses)
        if hit:
            good_ns.append(record.due_ns)
        if record.outcome.succeeded:
            for column in columns.values():
                column.add(record)
    num_cells = 1 + max([outcomes.last, *(column.last for column in columns.values())])
    return Sample(
        per_cell=per_cell,
        num_requests=outcomes.num_requests,
        series={name: column.cells(num_cells) for name, column in columns.items() if column.last >= 0},
        shares=outcomes.shares(num_cells, judged=attainment.has_objectives),
        slices=_slices(result, np.array(good_ns, np.int64)),
        rates={name: rate.value for name in RATES if (rate := result.rate(name))},
        reasons=_reasons(result),
        client_errors={
            name: found.client_error_p99
            for name in METRICS
            if (found := result.metric(name)) and found.client_error_p99 is not None
        },
    )


def cell_size(num_requests: int) -> int:
    """Requests in a cell: the smallest power of two that makes no more than ``MAX_CELLS`` of them."""
    return 1 << max(0, (max(1, num_requests) - 1).bit_length() - (MAX_CELLS.bit_length() - 1))


class _Outcomes:
    """Failures and hits by cell."""

    def __init__(self, per_cell: int) -> None:
        self.last = -1
        self.num_requests = 0
        self._per_cell = per_cell
        self._cells: dict[str, list[int]] = {"failed": [], "ended": [], "hit": [], "judged": []}

    def add(self, record: Record, *, hit: bool, missed: bool) -> None:
        cell = record.index // self._per_cell
        self.last = max(self.last, cell)
        ended = record.outcome.succeeded or record.outcome.failed
        self.num_requests += ended
        for name, holds in {
            "failed": record.outcome.failed,
            "ended": ended,
            "hit": hit,
            "judged": hit or missed,
        }.items():
            if holds:
                self._cells[name].append(cell)

    def shares(self, num_cells: int, *, judged: bool) -> dict[str, tuple[list[int], list[int]]]:
        counts = {
            name: np.bincount(np.array(cells, np.int64), minlength=num_cells).tolist()
            for name, cells in self._cells.items()
        }
        found = {"error_rate": (counts["failed"], counts["ended"])}
        return found | ({"attainment": (counts["hit"], counts["judged"])} if judged else {})


class _Column:
    """Buckets of a metric by cell."""

    def __init__(self, name: str, loop: str, per_cell: int) -> None:
        self.last = -1
        self._metric = metrics.metric(name)
        self._series = series_of(name, RESPONSE, loop)
        self._step = step(self._metric.unit)
        self._per_cell = per_cell
        self._waiting: list[tuple[int, FloatArray]] = []
        self._num_waiting = 0
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._sums: dict[int, float] = {}
        self._maximum = 0

    def add(self, record: Record) -> None:
        values = self._metric.values(record, self._series.start_ns(record))
        if isinstance(values, Missing):
            return
        units = np.rint(np.asarray(values, np.float64) / self._step)
        units = units[units <= _LAYOUT.highest]
        cell = record.index // self._per_cell
        self.last = max(self.last, cell)
        self._sums[cell] = self._sums.get(cell, 0.0) + float(units.sum())
        self._waiting.append((cell, units))
        self._num_waiting += units.size
        if self._num_waiting >= _MANY:
            self._flush()

    def _flush(self) -> None:
        """A key is a cell and a bucket in one number."""
        if not self._num_waiting:
            return
        units = np.concatenate([units for _, units in self._waiting]).astype(np.int64)
        sizes = [units.size for _, units in self._waiting]
        cells = np.repeat(np.array([cell for cell, _ in self._waiting], np.int64), sizes)
        self._maximum = max(self._maximum, int(units.max()))
        keys = np.concatenate([self._keys, cells * _LAYOUT.length + _LAYOUT.indices(units)])
        counts = np.concatenate([self._counts, np.ones(units.size, np.int64)])
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(place, weights=counts, minlength=self._keys.size).astype(np.int64)
        self._waiting, self._num_waiting = [], 0

    def cells(self, num_cells: int) -> Cells:
        self._flush()
        sums = np.zeros(num_cells)
        sums[list(self._sums)] = list(self._sums.values())
        cell, bucket = np.divmod(self._keys, _LAYOUT.length)
        return Cells.of(cell, bucket, self._counts, sums, self._maximum)


def _slices(result: Result, good_ns: IntArray) -> Slices:
    """The whole slices inside the window."""
    start_s, end_s = result.window_s
    points = [
        (number, point)
        for number, point in enumerate(result.timeline)
        if point.start_s >= start_s - 1e-9 and point.start_s + point.length_s <= end_s + 1e-9
    ]
    if not points:
        return Slices(0.0, 0, {})
    first, length_s = points[0][0], points[0][1].length_s
    slots = good_ns // round(length_s * 1e9) - first
    slots = slots[(slots >= 0) & (slots < len(points))]
    return Slices(
        length_s,
        first,
        {
            "output_token_rate": [point.output_tokens for _, point in points],
            "request_rate": [point.completed for _, point in points],
            "goodput": np.bincount(slots, minlength=len(points)).tolist(),
        },
    )


def _reasons(result: Result) -> dict[str, str]:
    rates = {rate.name: rate.reason or "it has no value" for rate in result.rates if rate.value is None}
    summaries = {m.name: m.reason or "no sample" for m in result.metrics if not m.n}
    return {name: reason for name, reason in (rates | summaries).items() if name in (*METRICS, *RATES)}
