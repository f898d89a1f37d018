"""The histograms of a run, a file for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness import metrics
from harness.recorder import step
from reports import distributions
from reports.hdr_errors import DecodeError
from reports.hdr_log import read_log
from reports.tables import TableError
from reports.whole_file import whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from harness.export._run import ExportedRun
    from reports.hdr_log import HdrLog

HISTOGRAMS: Final = "histograms"
_NS_PER_MS: Final = 1e6


def export_histograms(
    run: ExportedRun, chosen: Collection[str], format_name: str, folder: Path
) -> Iterator[tuple[Path, int]]:
    """Write the histograms of a run; each file and the number of its samples.

    Args:
        run: Likewise.
        chosen: Names of series as objectives write them, ``ttft``, ``service_ttft``; all for none.
        format_name: Of ``reports.distributions``.
        folder: Where the files go.

    Raises:
        TableError: There is no such format or series, or the run has no histograms yet.
        OSError: A file can't be written.
    """
    form, log = distributions.get(format_name), _log(run)
    found = {interval.tag: interval for interval in log.intervals if interval.tag is not None}
    if absent := [name for name in chosen if name not in found]:
        raise TableError(f"no histogram of {absent[0]!r}; there are: {', '.join(found) or 'none'}")
    for name in chosen or found:
        path = folder / f"{name}{form.SUFFIX}"
        with whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            form.write(file, found[name], log.base_time_s or 0.0, name, _units_per_value(name))
        yield path, found[name].histogram.n


def _log(run: ExportedRun) -> HdrLog:
    path = run.folder.histograms_path
    try:
        return read_log(path)
    except (DecodeError, OSError) as error:
        fault = f"{path} can't be read ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise TableError(f"{fault}; make it with: tokenpace report {run.folder.path}") from error


def _units_per_value(name: str) -> float:
    """Times are shown in ms, all else in its metric's unit."""
    unit = metrics.metric(name.removeprefix("service_")).unit
    return (_NS_PER_MS if unit == "ns" else 1.0) / step(unit)
