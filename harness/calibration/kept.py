"""The last calibration of this machine, kept for the runs that follow.

It lies in ``$XDG_STATE_HOME/tokenpace/calibration.json`` (``~/.local/state`` by default) and holds for the
machine and the Python that it was made with.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.calibration.calibration import SCHEMA_VERSION, Calibration
from harness.environment import environment
from reports.whole_file import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME: Final = ("python", "platform", "cpu", "num_cpus")


def path() -> Path:
    """Where it is kept, whether or not there is one."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tokenpace" / "calibration.json"


def keep(calibration: Calibration, at: Path | None = None) -> Path:
    """Write it, whole or not at all; where it went.

    Raises:
        OSError: It can't be written.
    """
    at = at or path()
    at.parent.mkdir(parents=True, exist_ok=True)
    write_json(at, calibration)
    return at


def last() -> Calibration | None:
    """The one that holds here and now; None where there is none, or it is of another machine or schema."""
    try:
        found = msgspec.json.decode(path().read_bytes(), type=Calibration)
    except (OSError, RuntimeError, msgspec.MsgspecError):
        return None
    here = environment()
    is_ours = all(found.machine.get(name) == here[name] for name in _SAME)
    return found if is_ours and found.schema_version == SCHEMA_VERSION else None


def with_calibration(environment: dict[str, Any]) -> dict[str, Any]:
    """The facts of a run's manifest, and in brief the calibration that holds for them, where there is one."""
    calibration = last()
    if calibration is None:
        return environment
    return {**environment, "calibration": _in_brief(calibration)}


def _in_brief(calibration: Calibration) -> dict[str, Any]:
    trusted = calibration.trusted
    return {
        "made_at": calibration.made_at,
        "workers": calibration.workers,
        "streams": trusted.streams if trusted else 0,
        "chunks_per_s": round(calibration.chunks_per_s),
        "bound_ms": round(calibration.bound / 1e6, 3) if trusted else None,
    }


def beyond(brief: Mapping[str, Any] | None, *, in_flight: int, chunks_per_s: float) -> str | None:
    """The sentence for a run that went beyond what its machine was calibrated for; None where it didn't.

    Args:
        brief: As ``with_calibration`` noted it before the run.
        in_flight: The most requests in flight at a time.
        chunks_per_s: Received, over the whole run.
    """
    if brief is None or (in_flight <= brief["streams"] and chunks_per_s <= brief["chunks_per_s"]):
        return None
    return (
        f"up to {in_flight:,} streams and {chunks_per_s:,.0f} chunks/s are beyond what this machine was "
        f"calibrated for on {brief['made_at'][:10]} ({brief['streams']:,} streams and "
        f"{brief['chunks_per_s']:,} chunks/s, workers: {brief['workers']}): the stated client error was "
        "never checked there; see tokenpace calibrate"
    )
