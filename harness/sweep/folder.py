"""The folder of a sweep: ``sweep.json``, written after every point, and the result folders of the points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from harness.result_folder import ResultFolderError, free_default
from harness.sweep.grid import SweepError
from reports.sweep.table import load
from reports.whole_file import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from reports.sweep.table import Sweep

_FILE: Final = "sweep.json"
_POINTS: Final = "points"
_MAX_NAME: Final = 60


class SweepFolder:
    """On disk.

    Args:
        path: Where it is.

    Attributes:
        path: Where it is.
        result_path: Of ``sweep.json``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.result_path = path / _FILE

    @classmethod
    def open(cls, path: Path | None, scenario_name: str) -> SweepFolder:
        """A new one, or that of a sweep which is to go on.

        Raises:
            ResultFolderError: It holds something else, or can't be made.
        """
        folder = cls(free_default(f"{scenario_name}-sweep") if path is None else path)
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            names = {each.name for each in folder.path.iterdir()}
        except OSError as error:
            raise ResultFolderError(
                f"{folder.path} can't be made ({error.strerror}); give another folder with --output"
            ) from error
        if names - {_POINTS} and _FILE not in names:
            raise ResultFolderError(
                f"{folder.path} holds other things already; give another folder with --output"
            )
        return folder

    def earlier(self, asked: Sweep) -> Sweep | None:
        """How far an earlier sweep came; None where there was none.

        Raises:
            ResultError: It can't be read.
            SweepError: It asked something else.
        """
        if not self.result_path.exists():
            return None
        earlier = load(self.result_path)
        for name in ("scenario", "base_url", "model"):
            if getattr(earlier, name) != getattr(asked, name):
                raise SweepError(
                    f"{self.path} holds a sweep with another {name}; give another folder with --output"
                )
        return earlier

    def for_point(self, number: int, values: dict[str, Any]) -> Path:
        """A new place for a point's own folder. A point that was broken off keeps its place."""
        words = "-".join(f"{key.rpartition('.')[2]}-{value}" for key, value in values.items())
        name = f"{number:03d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', words)[:_MAX_NAME].strip('-.')}"
        path, attempt = self.path / _POINTS / name, 2
        while path.exists():
            path, attempt = self.path / _POINTS / f"{name}-{attempt}", attempt + 1
        return path

    def save(self, sweep: Sweep) -> None:
        """Write ``sweep.json``, whole or not at all.

        Raises:
            ResultFolderError: It can't be written.
        """
        try:
            write_json(self.result_path, sweep)
        except OSError as error:
            raise ResultFolderError(
                f"{self.result_path} can't be written ({error.strerror}); is the disk full?"
            ) from error
