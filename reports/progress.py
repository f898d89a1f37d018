"""A run while it runs: a live panel on a terminal, one plain line every few seconds elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, Self

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reports.units import MISSING, duration, quantity

if TYPE_CHECKING:
    from types import TracebackType

PLAIN_INTERVAL_S = 5.0


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands.

    Attributes:
        elapsed_s: Since the start of the run.
        duration_s: How long it will send, None where it ends by count.
        total: Requests of the schedule, None where it ends by time.
        sent: Requests sent.
        in_flight: Requests under way.
        ok: Requests that ended well.
        failed: Requests that failed.
        ttft_p50: Response TTFT so far, ns, None without a sample.
        ttft_p95: Likewise.
        tpot_p50: ns, None without a sample.
        tokens_per_s: Output tokens per second lately.
        loop_lag_p99: How late the harness's event loop runs, ns.
        phase: ``warm-up``, ``measuring``, ``draining``, ...
    """

    elapsed_s: float
    duration_s: float | None = None
    total: int | None = None
    sent: int = 0
    in_flight: int = 0
    ok: int = 0
    failed: int = 0
    ttft_p50: float | None = None
    ttft_p95: float | None = None
    tpot_p50: float | None = None
    tokens_per_s: float | None = None
    loop_lag_p99: float | None = None
    phase: str = "measuring"

    @property
    def share_done(self) -> float | None:
        """0..1, by time where the run has a duration, else by count; None where it has neither."""
        if self.duration_s:
            return min(1.0, self.elapsed_s / self.duration_s)
        if self.total:
            return min(1.0, (self.ok + self.failed) / self.total)
        return None


class Progress(Protocol):
    """Shows snapshots. A context manager; ``update`` is cheap and may be called often."""

    def update(self, snapshot: Snapshot) -> None:
        """Show how the run stands."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""


def progress(console: Console, *, quiet: bool = False) -> Progress:
    """What suits ``console``: a live panel on a terminal, else plain lines, nothing if ``quiet``."""
    if quiet:
        return SilentProgress()
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)


class SilentProgress:
    """Shows nothing."""

    def update(self, snapshot: Snapshot) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing."""


class PlainProgress(SilentProgress):
    """One line every few seconds.

    Args:
        console: Where to print.
        interval_s: Least time between two lines, by the snapshots' own clock.
    """

    def __init__(self, console: Console, interval_s: float = PLAIN_INTERVAL_S) -> None:
        self._console = console
        self._interval_s = interval_s
        self._next_s = 0.0

    def update(self, snapshot: Snapshot) -> None:
        """Print a line if it is time for one."""
        if snapshot.elapsed_s >= self._next_s:
            self._next_s = snapshot.elapsed_s + self._interval_s
            self._console.print(Text(line(snapshot)), soft_wrap=True)


class LiveProgress:
    """A panel of three lines that is redrawn in place, at most four times a second.

    Args:
        console: A terminal.
    """

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn_s = float("-inf")

    def update(self, snapshot: Snapshot) -> None:
        """Redraw, unless the last drawing is very young."""
        now = time.monotonic()
        if now - self._drawn_s >= 0.25:
            self._drawn_s = now
            self._live.update(panel(snapshot), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the panel."""
        self._live.stop()


def line(snapshot: Snapshot) -> str:
    """A snapshot on one line."""
    parts = [f"{_clock(snapshot)} {snapshot.phase}", _sent(snapshot), f"{snapshot.in_flight} in flight"]
    parts += [f"{snapshot.ok} ok", f"{snapshot.failed} failed"]
    parts += [f"{name} {value}" for name, value in _figures(snapshot) if value != MISSING]
    return ", ".join(parts)


def panel(snapshot: Snapshot) -> RenderableType:
    """A snapshot as three lines: bar, counts, figures."""
    bar = Table.grid(padding=(0, 2), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    share = snapshot.share_done
    bar.add_row(
        Text.assemble((snapshot.phase, "bold"), f"  {_clock(snapshot)}"),
        ProgressBar(total=1.0, completed=share or 0.0, pulse=share is None),
    )
    failed = (f"{snapshot.failed} failed", "bold red" if snapshot.failed else "dim")
    counts = Text.assemble(
        _sent(snapshot),
        "  ",
        f"{snapshot.in_flight} in flight",
        "  ",
        (f"{snapshot.ok} ok", "green"),
        "  ",
        failed,
    )
    figures = Text("  ").join(
        Text.assemble((f"{name} ", "dim"), (value, "bold")) for name, value in _figures(snapshot)
    )
    return Group(bar, counts, figures)


def _clock(snapshot: Snapshot) -> str:
    elapsed = duration(round(snapshot.elapsed_s, 1))
    return f"{elapsed} of {duration(snapshot.duration_s)}" if snapshot.duration_s else elapsed


def _sent(snapshot: Snapshot) -> str:
    return f"{snapshot.sent} of {snapshot.total} sent" if snapshot.total else f"{snapshot.sent} sent"


def _figures(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    return (
        ("TTFT p50", quantity(snapshot.ttft_p50, "ns", 3)),
        ("p95", quantity(snapshot.ttft_p95, "ns", 3)),
        ("TPOT p50", quantity(snapshot.tpot_p50, "ns", 3)),
        ("output", quantity(snapshot.tokens_per_s, "tokens/s", 3)),
        ("loop lag p99", quantity(snapshot.loop_lag_p99, "ns", 2)),
    )
