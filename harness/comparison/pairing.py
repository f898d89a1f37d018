"""Two runs that sent the same requests, cell by cell beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

if TYPE_CHECKING:
    from harness.comparison.sample import Cells, Sample


def paired(one: Sample, other: Sample) -> tuple[Sample, Sample]:
    """Both with the same cells, so that a cell of the one holds the requests of that cell of the other."""
    per_cell = max(one.per_cell, other.per_cell)
    num_cells = max(_num_cells(sample) * sample.per_cell // per_cell + 1 for sample in (one, other))
    return _with_cells(one, per_cell, num_cells), _with_cells(other, per_cell, num_cells)


def _num_cells(sample: Sample) -> int:
    return len(sample.shares["error_rate"][1])


def _with_cells(sample: Sample, per_cell: int, num_cells: int) -> Sample:
    factor = per_cell // sample.per_cell
    series: dict[str, Cells] = {
        name: cells.coarser(factor, num_cells) for name, cells in sample.series.items()
    }
    shares = {
        name: (_summed(above, factor, num_cells), _summed(below, factor, num_cells))
        for name, (above, below) in sample.shares.items()
    }
    return structs.replace(sample, per_cell=per_cell, series=series, shares=shares)


def _summed(counts: list[int], factor: int, num_cells: int) -> list[int]:
    sums = [0] * num_cells
    for cell, count in enumerate(counts):
        sums[cell // factor] += count
    return sums
