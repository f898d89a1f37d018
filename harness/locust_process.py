"""A run handed to a headless Locust, which is another program: importing Locust patches the process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from harness.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.address import Address
    from scenarios.scenario import Scenario

ADDRESS_VARIABLE: Final = "TOKENPACE_ADDRESS"
"""The address with its secrets, which a command line would show to everybody."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class LocustProcessError(HarnessError):
    """Locust isn't there, or can't do what is asked."""


def run_by_locust(
    scenario: Scenario,
    address: Address,
    *,
    model: str | None = None,
    output: Path | None = None,
    reports: Sequence[str] = (),
    telemetry: bool = True,
    baseline: str | None = None,
    quiet: bool = False,
) -> int:
    """Run a scenario in a Locust of its own, which shows the result.

    Arguments are those of ``harness.run.run``; the baseline is a name.

    Returns:
        The exit code; minus the signal's number where Locust was killed.

    Raises:
        LocustProcessError: Locust isn't installed, or doesn't go through proxies.
    """
    if address.proxy is not None:
        raise LocustProcessError("--engine locust goes through no proxy; leave --proxy out, or the engine")
    with tempfile.TemporaryDirectory(prefix="tokenpace-") as folder:
        plan = Path(folder) / "scenario.yaml"
        plan.write_bytes(msgspec.json.encode(scenario.to_mapping()))  # JSON is YAML
        options = {"--model": model, "--output": output, "--baseline": baseline}
        command = [
            *_locust(),
            *("--headless", "--only-summary", "--loglevel", "WARNING"),
            *("--json-file", f"{folder}/statistics.json"),  # in place of its tables
            *("--scenario", str(plan)),
            *(f"{option}={value}" for option, value in options.items() if value is not None),
            *(f"--report={name}" for name in reports),
            *([] if telemetry else ["--no-telemetry"]),
            *(["--no-summary"] if quiet else []),
        ]
        return _run(command, address)


def _locust() -> list[str]:
    """The beginning of its command line."""
    if importlib.util.find_spec("locust") is None:
        raise LocustProcessError("--engine locust: Locust is not installed; pip install 'tokenpace[locust]'")
    locustfile = importlib.util.find_spec("scenarios.locustfile")
    assert locustfile is not None
    return [sys.executable, "-m", "locust", "-f", str(locustfile.origin)]


def _run(command: list[str], address: Address) -> int:
    environment = {**os.environ, ADDRESS_VARIABLE: msgspec.json.encode(address).decode()}
    process = subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603 (our own program)
    with process, _handing_on(process):
        return process.wait()


@contextlib.contextmanager
def _handing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals that end this process go to Locust, which leaves a result; then this process ends too."""
    before = {number: signal.signal(number, lambda got, _: process.send_signal(got)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
