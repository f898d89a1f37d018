"""Create the project's environment: a venv with a fitting torch and the project, editable.

An installed torch 2.11 to 2.14 is used where there is one. Else a CPU build is taken where the
configured package index offers one, else whatever build it has.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

TORCH = "2.13.0"
HAS_TORCH = """
import importlib.metadata as m
version = tuple(int(x) for x in m.version("torch").split("+")[0].split(".")[:2])
raise SystemExit(0 if (2, 11) <= version <= (2, 14) else 1)
"""


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"[setup] {text}", flush=True)


def succeeds(*command: str) -> bool:
    """Run a command silently and tell whether it succeeded."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def pip_install(python: Path, *arguments: str, quiet_failure: bool = False) -> bool:
    """Install with pip; tell whether it worked. What is never imported need not be compiled either."""
    options = ("--quiet", "--disable-pip-version-check", "--no-compile")
    command = [str(python), "-m", "pip", "install", *options, *arguments]
    return subprocess.run(command, check=False, capture_output=quiet_failure).returncode == 0


def install_torch(python: Path) -> None:
    """Install a CPU build of torch where one is offered, else any build."""
    if succeeds(str(python), "-c", HAS_TORCH):
        say("torch: using the one already installed")
        return
    say(f"torch {TORCH}: installing a CPU build")
    if pip_install(python, f"torch=={TORCH}+cpu", quiet_failure=True):
        return
    say("no CPU build is offered here; taking the default build")
    if not pip_install(python, f"torch=={TORCH}"):
        raise SystemExit(
            "[setup] torch could not be installed; install torch 2.11 to 2.14 by hand, then try again"
        )


def main(venv: Path) -> None:
    """Set up ``venv``."""
    began = time.monotonic()
    python = venv / "bin" / "python"
    if not python.exists():
        inherits = succeeds(sys.executable, "-c", HAS_TORCH)
        say(f"creating {venv}" + (" (sees the torch already installed)" if inherits else ""))
        options = ["--system-site-packages"] if inherits else []
        subprocess.run([sys.executable, "-m", "venv", *options, str(venv)], check=True)
    install_torch(python)
    say("installing tokenpace with its development tools")
    if not pip_install(python, "--editable", ".[dev]"):
        raise SystemExit("[setup] the installation failed; see pip's message above")
    (venv / ".ready").touch()
    say(f"ready after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
