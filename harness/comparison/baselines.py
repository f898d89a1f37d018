"""Named baselines: a folder that can be committed, one folder of one file and a page to read for each.

``.tokenpace/baselines/NAME/baseline.json`` says what it is and what it gave, for people and for diffs;
``sample.bin`` beside it holds what comparisons need: MessagePack, compressed with zlib.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.comparison.errors import BaselineError
from harness.comparison.figure import usual_figures
from harness.comparison.past_run import PastRun
from harness.comparison.side import Side
from harness.version import __version__
from reports.whole_file import write_bytes, write_json
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER: Final = Path(".tokenpace/baselines")
VERSION: Final = 1
_PAGE: Final = "baseline.json"
_SAMPLE: Final = "sample.bin"
_NAME: Final = re.compile(r"[\w][\w.-]*")


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    label: str
    runs: tuple[PastRun, ...]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader sees of a baseline.

    Attributes:
        version: Of the two files.
        tool_version: Of the tokenpace that wrote them.
        scenario: Name of the scenario.
        model: As sent.
        started_at: Of each run.
        num_requests: Of all runs.
        figures: The usual figures, in ns, requests/s, tokens/s or shares; None without a sample.
    """

    version: int = VERSION
    tool_version: str = __version__
    scenario: str
    model: str
    started_at: tuple[str, ...]
    num_requests: int
    figures: dict[str, float | None]


class Baselines:
    """The baselines of a folder.

    Args:
        folder: Where they are; ``.tokenpace/baselines`` in the working directory by default.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = FOLDER if folder is None else folder

    def names(self) -> list[str]:
        """Those that there are, sorted; one that lacks a file is there, and can't be read.

        Raises:
            BaselineError: The folder can't be read.
        """
        try:
            paths = list(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BaselineError(
                f"{self.folder} can't be read ({error.strerror}); give another folder of baselines"
            ) from error
        return sorted(path.name for path in paths if any((path / file).exists() for file in (_PAGE, _SAMPLE)))

    def pages(
        self, on_fault: Callable[[BaselineError], None] | None = None
    ) -> Iterator[tuple[str, Page, int]]:
        """Name, page and size in bytes of each.

        Args:
            on_fault: Called for one whose page or sample can't be read; by default that is raised.

        Raises:
            BaselineError: One can't be read.
        """
        for name in self.names():
            folder = self.folder / name
            try:
                load_baseline(folder)
                page = _decoded(_read(folder / _PAGE), Page, folder / _PAGE)
            except BaselineError as error:
                if on_fault is None:
                    raise
                on_fault(error)
                continue
            yield name, page, sum(path.stat().st_size for path in folder.iterdir())

    def save(self, name: str, side: Side, label: str | None = None) -> Path:
        """Keep runs under a name, in the place of what has that name.

        Args:
            name: Of the folder.
            side: The runs.
            label: What readers call it, by default the name.

        Returns:
            The baseline's folder.

        Raises:
            BaselineError: The name can't be used, a run can't be trusted, or nothing can be written.
        """
        if not _NAME.fullmatch(name):
            raise BaselineError(f"'{name}' can't name a baseline; use letters, digits, '-', '_' and '.'")
        for run in side.runs:
            for fault in run.identity.faults:
                raise BaselineError(f"{side.label} is no baseline: {fault}")
        folder = self.folder / name
        kept = _Kept(label=name if label is None else label, runs=side.runs)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_bytes(folder / _SAMPLE, zlib.compress(msgspec.msgpack.encode(kept), 9))
            write_json(folder / _PAGE, _page(side))
        except OSError as error:
            raise BaselineError(
                f"{folder} can't be written ({error.strerror}); give another --folder"
            ) from error
        return folder

    def load(self, name: str) -> Side:
        """The runs of that name.

        Raises:
            BaselineError: There are none, or they can't be read.
        """
        if name not in self.names():
            there = did_you_mean(name, self.names()) if self.names() else "there is none yet"
            raise BaselineError(
                f"no baseline '{name}' in {self.folder}; {there}. "
                f"Keep one with: tokenpace baseline save {name} RESULT"
            )
        return load_baseline(self.folder / name)


def load_baseline(folder: Path) -> Side:
    """The runs of a baseline's folder.

    Raises:
        BaselineError: They can't be read.
    """
    path = folder / _SAMPLE
    try:
        data = zlib.decompress(_read(path))
    except zlib.error as error:
        raise BaselineError(f"{path} is damaged ({error}); save the baseline again") from error
    version = _decoded(data, _Versioned, path).version
    if version != VERSION:
        raise BaselineError(
            f"{path}: version {version}, this tokenpace reads {VERSION}; save the baseline again"
        )
    kept = _decoded(data, _Kept, path)
    return Side(kept.label, kept.runs)


class _Versioned(msgspec.Struct):
    version: int


def _page(side: Side) -> Page:
    first = side.runs[0].identity
    return Page(
        scenario=first.name,
        model=str(first.keys.get("model") or ""),
        started_at=tuple(run.identity.started_at for run in side.runs),
        num_requests=sum(run.identity.num_requests for run in side.runs),
        figures={str(figure): side.value(figure) for figure in usual_figures()},
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BaselineError(f"{path} can't be read ({error.strerror}); save the baseline again") from error


def _decoded(data: bytes, kind: Any, path: Path) -> Any:  # noqa: ANN401 (a struct's class and its value)
    decode = msgspec.json.decode if path.suffix == ".json" else msgspec.msgpack.decode
    try:
        return decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise BaselineError(f"{path} is damaged ({error}); save the baseline again") from error
