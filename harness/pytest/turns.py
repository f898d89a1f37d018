"""pytest-xdist: of all its processes one at a time sends load, and meanwhile the others run no test.

So a load is never multiplied, and its times tell of the server and not of the tests beside it.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADING: Final = frozenset(("load", "load_session"))
"""Fixtures that send load."""
_FOLDER: Final = "sla_folder"
_DIST: Final = "sla_dist"
_MADE = pytest.StashKey[Path]()
_ANY_LOAD = pytest.StashKey[bool]()


def sends_load(item: pytest.Item) -> bool:
    """Whether a test asks for a fixture that sends load, itself or through another fixture."""
    return not LOADING.isdisjoint(getattr(item, "fixturenames", ()))


def tell_worker(config: pytest.Config, workerinput: dict[str, Any]) -> None:
    """In the controller: tell a worker what it shares with the others."""
    if _MADE not in config.stash:
        config.stash[_MADE] = Path(tempfile.mkdtemp(prefix="tokenpace-"))
    workerinput |= {_FOLDER: str(config.stash[_MADE]), _DIST: config.getoption("dist", "no")}


def clear(config: pytest.Config) -> None:
    """In the controller, at the end: remove what the workers shared."""
    folder = config.stash.get(_MADE, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def common_folder(config: pytest.Config) -> Path | None:
    """What controller and workers share, in each of them; None elsewhere, and on another machine."""
    told = getattr(config, "workerinput", {})
    folder = Path(told[_FOLDER]) if _FOLDER in told else config.stash.get(_MADE, None)
    return folder if folder is not None and folder.is_dir() else None


def shared_folder(config: pytest.Config) -> Path | None:
    """In a worker: what it shares with the others; None where it is alone."""
    told = getattr(config, "workerinput", {})
    if told.get("workercount", 1) < 2 or _FOLDER not in told:
        return None
    folder = Path(told[_FOLDER])
    folder.mkdir(parents=True, exist_ok=True)  # on another machine than the controller's it isn't there
    return folder


def fault(config: pytest.Config) -> str | None:
    """Why load can't be sent from this worker; None for nothing."""
    told = getattr(config, "workerinput", {})
    workers = told.get("workercount", 1)
    if workers > 1 and told.get(_DIST) == "each":
        return (
            f"--dist=each runs every test in each of {workers} pytest-xdist workers, which multiplies the "
            "load: run the load tests by themselves: pytest -m sla -n 0"
        )
    return None


@contextlib.contextmanager
def turn_of(item: pytest.Item) -> Iterator[None]:
    """Wait until a test may run: alone if it sends load, else beside others that send none."""
    config = item.config
    if _ANY_LOAD not in config.stash:
        config.stash[_ANY_LOAD] = any(map(sends_load, item.session.items))
    folder = shared_folder(config) if config.stash[_ANY_LOAD] else None
    if folder is None:
        yield
        return
    with _turn(folder, alone=sends_load(item)):
        yield


@contextlib.contextmanager
def _turn(folder: Path, *, alone: bool) -> Iterator[None]:
    import fcntl

    with (folder / "queue").open("w") as queue, (folder / "turn").open("w") as turn:
        fcntl.flock(queue, fcntl.LOCK_EX)  # nobody overtakes a test that waits to be alone
        fcntl.flock(turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield
