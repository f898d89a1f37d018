"""The folder of a search: ``capacity.json``, written after every probe, and the result folders of the
probes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.result_folder import ResultFolderError, free_default
from reports.capacity.search import load
from reports.whole_file import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from reports.capacity.search import Capacity

_FILE: Final = "capacity.json"
_PROBES: Final = "probes"


class SearchFolder:
    """On disk.

    Args:
        path: Where it is; made if it isn't there.

    Attributes:
        path: Where it is.
        result_path: Of ``capacity.json``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.result_path = path / _FILE

    @classmethod
    def open(cls, path: Path | None, scenario_name: str) -> SearchFolder:
        """A new one, or that of a search which is to go on.

        Raises:
            ResultFolderError: It holds something else, or can't be made.
        """
        path = free_default(f"{scenario_name}-capacity") if path is None else path
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            is_foreign = any(path.iterdir()) and not folder.result_path.exists()
        except OSError as error:
            raise ResultFolderError(
                f"{path} can't be made ({error.strerror}); give another folder with --output"
            ) from error
        if is_foreign and {each.name for each in path.iterdir()} != {_PROBES}:
            raise ResultFolderError(f"{path} holds other things already; give another folder with --output")
        return folder

    def earlier(self) -> Capacity | None:
        """How far an earlier search came; None where there was none.

        Raises:
            ResultError: It can't be read.
        """
        return load(self.result_path) if self.result_path.exists() else None

    def for_probe(self, number: int, load: float, key: str) -> Path:
        """A new place for a probe's own folder. A probe that was broken off keeps its place."""
        name = f"{number:02d}-{key.rpartition('.')[2]}-{load:g}"
        path, attempt = self.path / _PROBES / name, 2
        while path.exists():
            path, attempt = self.path / _PROBES / f"{name}-{attempt}", attempt + 1
        return path

    def save(self, capacity: Capacity) -> None:
        """Write ``capacity.json``, whole or not at all.

        Raises:
            ResultFolderError: It can't be written.
        """
        try:
            write_json(self.result_path, capacity)
        except OSError as error:
            raise ResultFolderError(
                f"{self.result_path} can't be written ({error.strerror}); is the disk full?"
            ) from error
