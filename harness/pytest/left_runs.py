"""Shared runs that another process of the session has made: of several pytest-xdist workers one sends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.run import Run


class LeftRuns:
    """Finds runs by their key, and notes where one is.

    Args:
        folder: Where all processes of the session look; None where there is one process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, key: str) -> Run | None:
        """The run, read from its result folder; None where nobody has made it."""
        if self._folder is None or not self._note(self._folder, key).exists():
            return None
        from harness.result_folder import ResultFolder
        from harness.run import Run
        from reports.result import load

        folder = ResultFolder.open(Path(self._note(self._folder, key).read_text(encoding="utf-8")))
        return Run(folder=folder, result=load(folder.result_path), reports={})

    def note(self, key: str, path: Path) -> None:
        """Say where a run is. Whoever looks for it has its turn afterwards, so needs no lock."""
        if self._folder is not None:
            self._note(self._folder, key).write_text(str(path), encoding="utf-8")

    @staticmethod
    def _note(folder: Path, key: str) -> Path:
        return folder / f"run-{key}"
