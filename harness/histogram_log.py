"""Every series of a run as one HDR interval log, for the tools that read such files."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reports.hdr_log import HdrLogWriter
from reports.whole_file import whole

if TYPE_CHECKING:
    from pathlib import Path

    from harness.summary.snapshot import Snapshot
    from reports.result import Result


def write_histograms(snapshot: Snapshot, result: Result, path: Path) -> None:
    """One line for each series with samples, tagged ``ttft``, ``service_ttft``, ...

    Values are microseconds, tokens, thousandths of a token per second, or two-thousandths of the whole.

    Raises:
        OSError: The file can't be written.
    """
    start_s, end_s = result.window_s
    with whole(path) as temporary, temporary.open("w", encoding="ascii", errors="replace") as file:
        begun_s = datetime.fromisoformat(result.started_at).timestamp()
        writer = HdrLogWriter(file, begun_s, f"tokenpace {result.tool_version}: {result.scenario_name}")
        for series, histogram in snapshot.histograms.items():
            if histogram.n:
                writer.write(histogram, start_s, end_s - start_s, tag=str(series))
