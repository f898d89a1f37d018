"""One load of known size against the timetable server, with everything on that a user's run has on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness import event_loop
from harness.calibration.comparison import ComparisonError, errors
from harness.calibration.measured import Measured
from harness.run import run
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from harness.calibration.timetable import Timetable

TTFT: Final = "50ms"
GAP: Final = "10ms"
NUM_TOKENS: Final = 64
_RAMP: Final = "640ms"
_FEWEST_REQUESTS: Final = 8


def measure(server: Timetable, streams: int, rounds: int, workers: int = 1) -> Measured:
    """Keep ``streams`` streams open, each with ``rounds`` answers one after the other, by so many processes.

    Raises:
        ComparisonError: A request failed, or the log doesn't fit.
        HarnessError: The run could not be made.
    """
    with tempfile.TemporaryDirectory(prefix="tokenpace-calibrate-") as folder:
        done = event_loop.run(
            run(
                scenario_from(_scenario(streams, rounds)),
                base_url=server.url,
                result_dir=Path(folder) / "result",
                reports=(),
                telemetry=False,
                workers=workers,
            )
        )
        if set(done.result.outcomes) != {"ok"}:
            raise ComparisonError(
                f"of {streams} streams not all went well ({done.result.outcomes}); "
                "is the limit of open files too low (`ulimit -n`), or the machine out of memory?"
            )
        checkpoint = done.folder.checkpoint()
        found = errors(done.records, server.take_log(), checkpoint.started_ns)
    return Measured(checkpoint.health, found, checkpoint.elapsed_ns / 1e9)


def _scenario(streams: int, rounds: int) -> dict[str, Any]:
    return {
        "name": "calibration",
        "load": {
            "arrivals": "closed",
            "concurrency": streams,
            "requests": max(_FEWEST_REQUESTS, rounds * streams),
            "ramp": _RAMP,
        },
        "prompts": {"source": "text", "text": ["one two three"]},
        "sampling": {"max_tokens": NUM_TOKENS},
        "samples": 0,
    }
