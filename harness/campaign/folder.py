"""The folder of a campaign: what is known so far, written after every run, and the runs' result folders."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from harness.result_folder import ResultFolderError, free, free_default
from reports.document import DocumentError
from reports.whole_file import write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

D = TypeVar("D", bound=msgspec.Struct)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind(Generic[D]):
    """What campaigns of one kind leave.

    Attributes:
        name: Of its document: ``sweep`` for ``sweep.json`` in ``results/<scenario>-sweep-<time>``.
        noun: What a message calls it.
        runs: The folder of the result folders.
        same: What of the document an earlier call must have had alike.
        load: Reads the document.
        write_files: Writes what shows it to people; the paths.
    """

    name: str
    noun: str
    runs: str
    same: tuple[str, ...]
    load: Callable[[Path], D]
    write_files: Callable[[D, Path], Iterable[Path]]


class CampaignFolder(Generic[D]):
    """On disk.

    Args:
        path: Where it is; made if it isn't there.
        kind: What it holds.

    Attributes:
        path: Where it is.
        result_path: Of the document.

    Raises:
        ResultFolderError: It holds something else, or can't be made.
    """

    def __init__(self, path: Path, kind: Kind[D]) -> None:
        self.path = path
        self.result_path = path / f"{kind.name}.json"
        self._kind = kind
        self._runs = path / kind.runs
        try:
            path.mkdir(parents=True, exist_ok=True)
            names = {each.name for each in path.iterdir()}
        except OSError as error:
            raise ResultFolderError(
                f"{path} can't be made ({error.strerror}); give another folder with --output"
            ) from error
        if names - {kind.runs} and self.result_path.name not in names:
            raise ResultFolderError(f"{path} holds other things already; give another folder with --output")

    @classmethod
    def open(cls, path: Path | None, scenario_name: str, kind: Kind[D]) -> CampaignFolder[D]:
        """The folder at ``path``, or a new one in ``results``. Errors as above."""
        return cls(free_default(f"{scenario_name}-{kind.name}") if path is None else path, kind)

    def earlier(self, asked: object) -> D | None:
        """How far an earlier call came; None where there was none.

        Args:
            asked: What is asked now, with the attributes of the document that must be the same.

        Raises:
            ResultFolderError: It can't be read, or asked something else.
        """
        if not self.result_path.exists():
            return None
        try:
            found = self._kind.load(self.result_path)
        except DocumentError as error:
            raise ResultFolderError(f"{error}; give another folder with --output") from error
        for name in self._kind.same:
            if getattr(found, name) != getattr(asked, name):
                raise ResultFolderError(
                    f"{self.path} holds a {self._kind.noun} with another {name}; give another folder with "
                    "--output, or ask the same question to go on"
                )
        return found

    @property
    def num_runs(self) -> int:
        """Result folders that there are, broken-off ones too."""
        return len(list(self._runs.glob("*")))

    def place(self, name: str) -> Path:
        """A new place for the result folder of a run. One that was broken off keeps its own."""
        return free(self._runs / name)

    def save(self, document: D) -> None:
        """Write the document, whole or not at all.

        Raises:
            ResultFolderError: It can't be written.
        """
        try:
            write_json(self.result_path, document)
        except OSError as error:
            raise ResultFolderError(
                f"{self.result_path} can't be written ({error.strerror}); is the disk full?"
            ) from error

    def write(self, document: D) -> tuple[Path, ...]:
        """Write the document and what shows it; all paths.

        Raises:
            ResultFolderError: Not all of it can be written.
        """
        self.save(document)
        try:
            return (self.result_path, *self._kind.write_files(document, self.path))
        except OSError as error:
            raise ResultFolderError(
                f"{self.path}: not all of it could be written ({error.strerror}); make room, then call the "
                "same command with --output once more"
            ) from error
