"""``tokenpace calibrate``: how far the harness may be trusted on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands._options import fail, usage_errors

if TYPE_CHECKING:
    from harness.calibration.calibration import Calibration
    from harness.calibration.level import Level

_HEAD = (
    "streams  chunks/s   TTFT error p50      p99   gap error p99   stated bound   kept in a fresh run   cores"
)


@click.command()
@click.option("--quick", is_flag=True, help="Three small loads only: half a minute.")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Processes that send the load, as in tokenpace run.",
)
@click.option(
    "--within",
    metavar="DURATION",
    default="10ms",
    show_default=True,
    help="An error bound larger than this is of no use.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what was found there too.",
)
@usage_errors
def command(*, quick: bool, workers: int, within: str, json_path: Path | None) -> None:
    """Measure this machine against the bundled timetable server, which logs when it sent each token.

    Each load is run twice. The first run states how large its error is (99 % of its values), the second shows
    whether that holds. The largest load at which it does, with a bound that is of use, is what the
    harness may be trusted with here; it is kept, and a later run that goes beyond says so.
    Exit code: 0, or 1 where not even the smallest load can be trusted.
    """
    from harness.calibration.kept import keep
    from harness.calibration.procedure import calibrate

    limit_ns = _limit(within)
    click.echo(_HEAD)
    calibration = calibrate(quick=quick, workers=workers, limit_ns=limit_ns, on_level=_show)
    click.echo(_verdict(calibration))
    try:
        for path in (keep(calibration), *([] if json_path is None else [keep(calibration, json_path)])):
            click.echo(f"wrote {path}")
    except OSError as error:
        fail(f"the calibration can't be written ({error}); give another file, or set XDG_STATE_HOME")
    raise SystemExit(0 if calibration.trusted is not None else 1)


def _limit(within: str) -> int:
    from scenarios.durations import parse_duration

    try:
        return parse_duration(within)
    except ValueError as error:
        raise click.UsageError(f"--within: {error}") from error


def _show(level: Level) -> None:
    click.echo(
        f"{level.streams:7,} {level.chunks_per_s:9,.0f} {_ms(level.ttft_error_p50):>16} "
        f"{_ms(level.ttft_error_p99):>8} {_ms(level.gap_error_p99):>15} {_ms(level.bound):>14} "
        f"{100 * level.ttft_within:12.2f} %, {100 * level.gap_within:.2f} % {level.cpu_share:6.2f}"
    )


def _ms(value_ns: int) -> str:
    return f"{value_ns / 1e6:.2f} ms"


def _verdict(calibration: Calibration) -> str:
    trusted = calibration.trusted
    if trusted is None:
        return (
            f"not to be trusted within {_ms(calibration.limit_ns)} at any load: is the machine busy with "
            "other things? Raise --within to accept a larger error"
        )
    return (
        f"trusted up to {trusted.streams:,} streams and {calibration.chunks_per_s:,.0f} chunks/s on this "
        f"machine: 99 % of TTFTs and gaps are right within {_ms(calibration.bound)}"
    )
