"""A run handed to a headless Locust, which takes this process's place: importing it would patch this one."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from harness.address import Address
from harness.errors import HarnessError
from harness.workers.crew_size import num_wanted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

_VARIABLE: Final = "TOKENPACE_HANDED_OVER"
_HERE: Final = "127.0.0.1"


class LocustProgramError(HarnessError):
    """Locust isn't there, or can't do what is asked."""


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of Locust doesn't hold: it is too long, or secret.

    Attributes:
        scenario: What is sent, as plain data.
        address: The server under test.
    """

    scenario: dict[str, Any]
    address: Address


def become_locust(
    scenario: Scenario,
    address: Address,
    *,
    model: str | None = None,
    output: Path | None = None,
    reports: Sequence[str] = (),
    telemetry: bool = True,
    baseline: str | None = None,
    workers: Asked = 1,
    quiet: bool = False,
) -> NoReturn:
    """Run a scenario in Locust, which shows the result and ends with the run's exit code.

    Arguments are those of ``harness.run.run``; the baseline is a name.

    Raises:
        LocustProgramError: Locust isn't installed, or doesn't go through proxies.
        WorkersError: So many workers can't be had.
    """
    if address.proxy is not None:
        raise LocustProgramError("--engine locust goes through no proxy; leave --proxy out, or the engine")
    options = {"--model": model, "--output": output, "--baseline": baseline}
    command = [
        *_locust(),
        *("--headless", "--only-summary", "--loglevel", "WARNING"),
        *("--json-file", os.devnull),  # in place of its tables
        *(f"{option}={value}" for option, value in options.items() if value is not None),
        *(f"--report={name}" for name in reports),
        *_processes(num_wanted(workers)),
        *([] if telemetry else ["--no-telemetry"]),
        *(["--no-summary"] if quiet else []),
    ]
    handed_over = HandedOver(scenario=scenario.to_mapping(), address=address)
    os.execve(command[0], command, {**os.environ, _VARIABLE: str(_file_of(handed_over))})  # noqa: S606 (our own program)


def handed_over() -> HandedOver | None:
    """What ``become_locust`` handed over to this process; None where nobody did."""
    descriptor = os.environ.get(_VARIABLE)
    if descriptor is None:
        return None
    size = os.fstat(int(descriptor)).st_size
    return msgspec.json.decode(os.pread(int(descriptor), size, 0), type=HandedOver)


def _locust() -> list[str]:
    """The beginning of its command line."""
    if importlib.util.find_spec("locust") is None:
        raise LocustProgramError("--engine locust: Locust is not installed; pip install 'tokenpace[locust]'")
    locustfile = importlib.util.find_spec("scenarios.locustfile")
    assert locustfile is not None
    return [sys.executable, "-P", "-m", "locust", "-f", str(locustfile.origin)]


def _processes(num_workers: int) -> list[str]:
    """What has Locust send by so many processes, who meet at a port that is free now."""
    if num_workers == 1:
        return []
    with socket.socket() as free:
        free.bind((_HERE, 0))
        port = free.getsockname()[1]
    ports = (f"--master-bind-port={port}", f"--master-port={port}")
    return [f"--processes={num_workers}", f"--master-bind-host={_HERE}", f"--master-host={_HERE}", *ports]


def _file_of(what: HandedOver) -> int:
    """A file without a name that outlives this program; its descriptor."""
    with tempfile.TemporaryFile() as file:
        file.write(msgspec.json.encode(what))
        file.flush()
        return os.dup2(file.fileno(), os.dup(file.fileno()), inheritable=True)
