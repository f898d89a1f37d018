"""Where the clients live: an environment for each, below the user's cache, or one that the user names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import NotInstalledError, find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.peers import Install, Peer


def folder() -> Path:
    """``$XDG_CACHE_HOME/tokenpace/peers``, by default below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenpace" / "peers"


def python_of(name: str, peer: Peer, named: Mapping[str, Path]) -> Path:
    """The interpreter of a client's environment.

    Args:
        name: The client's.
        peer: It.
        named: Interpreters, or environments, given by the user.

    Raises:
        NotInstalledError: The client isn't there.
    """
    given = named.get(name)
    if given is not None:
        python = given / "bin" / "python" if given.is_dir() else given
    elif peer.installs:
        python = folder() / name / "bin" / "python"
    else:
        python = Path(sys.executable)
    if not peer.is_installed(python):
        remedy = (
            f"python benchmarks/clients.py --install {name}"
            if peer.installs
            else "pip install -e '.[locust]'"
        )
        raise NotInstalledError(
            f"{name} is not installed; {remedy}, or name its environment: --python {name}=PATH"
        )
    return python


def install(name: str) -> None:
    """Make a client's environment anew.

    Raises:
        subprocess.CalledProcessError: A step failed.
    """
    peer = find(name)
    if not peer.installs:
        print(f"{name} lives in the project's own environment")
        return
    place = folder() / name
    print(
        f"{name}: into {place}; a client of this kind takes from one to twenty minutes, a few at most with uv"
    )
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    for step in peer.installs:
        subprocess.run([*_installer(place, step), *step.options, *step.requirements], check=True)
    peer.finish_install(place)


def _installer(place: Path, step: Install) -> list[str]:
    """uv if it is at hand and will do: it finds in seconds what pip looks for in minutes."""
    python, uv = str(place / "bin" / "python"), shutil.which("uv")
    if uv and not step.pip:
        return [uv, "pip", "install", "--quiet", "--python", python]
    return [python, "-m", "pip", "install", "--quiet"]


def version_of(python: Path, package: str) -> str:
    """The version of a distribution in an environment."""
    code = f"import importlib.metadata, json; print(json.dumps(importlib.metadata.version({package!r})))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return str(json.loads(done.stdout)) if done.returncode == 0 else "?"
