"""The folder that a run leaves. All of it can be made again from its first four files.

manifest.json    what was asked of whom, written before the first request
journal.jsonl    one line for each request, written as it ends
checkpoint.json  how far the run is and how the harness feels, written every second
telemetry.jsonl  what the server said of itself, every second; not there when it wasn't asked
result.json      the numbers and the verdict, written at the end
histograms.hlog  every series as an HDR histogram, which other tools read
report.html ...  the reports

While several workers send the load, each writes a journal of its own beside it: journal-1.jsonl, .... They
become one at the end.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from harness.decided import Decided
from harness.errors import HarnessError
from harness.quality.figures import Quality
from harness.secrets import without_secrets
from harness.window import Window
from reports.result import ClientHealth
from reports.whole_file import write_json

SCHEMA_VERSION = 1
DEFAULT_PARENT = Path("results")


class ResultFolderError(HarnessError, OSError):
    """A result folder can't be written or read. The message names the path and the remedy."""


def not_all_written(path: Path, error: OSError) -> ResultFolderError:
    """What to say, and to do, where ``error`` kept a folder from being whole."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    remedy = "make room, then make the rest with 'tokenpace report'"
    if isinstance(cause, FileNotFoundError):
        remedy = "was the folder removed while the run went on? Run it again"
    return ResultFolderError(f"{path}: not all of it could be written ({cause.strerror}); {remedy}")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was asked to do, and where.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        scenario: The scenario as run.
        base_url: The address under test, secrets masked.
        model: The model's name as sent.
        started_at: ISO 8601 wall time with zone.
        loop: ``open`` or ``closed``.
        capped: Whether an open loop has a cap on requests in flight.
        window: What is measured.
        looks: Whether the run ends as soon as all is decided, so that its verdicts share their error among
            several looks (``harness.looks``).
        notes: What the reader must know of the plan.
        environment: What it ran on.
        quality: What the server expected of a text before the load; None where that was not asked.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    scenario: dict[str, Any]
    base_url: str
    model: str
    started_at: str
    loop: str
    capped: bool
    window: Window
    looks: bool = False
    notes: tuple[str, ...] = ()
    environment: dict[str, Any] = {}
    quality: Quality | None = None


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is.

    Attributes:
        elapsed_ns: Since the start of the run.
        finished: False while it goes on, and for ever in a run that was killed.
        interrupted: Name of the signal that ended it, None if none did.
        health: The harness's own error so far.
        stopped: Which limit of the scenario ended it early; None if none did.
        decided: Which look at the objectives ended it early; None if none did.
        num_backoffs: Times that a slot of a closed loop waited because the server had not replied.
        started_ns: Monotonic time of the start, from which the journal's times count: by it they can be held
            against those of another process of the same machine. 0 before the start.
        lost_workers: What became of each worker process that did not come to its end.
        num_records: Requests in the journal, once the run is over; None before, and in old folders.
    """

    elapsed_ns: int
    finished: bool
    interrupted: str | None
    health: ClientHealth
    stopped: str | None = None
    decided: Decided | None = None
    num_backoffs: int = 0
    started_ns: int = 0
    lost_workers: tuple[str, ...] = ()
    num_records: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the run came to the end that its scenario gave it."""
        is_cut = self.interrupted is not None or self.stopped is not None or bool(self.lost_workers)
        return self.finished and not is_cut


Document = TypeVar("Document", Manifest, Checkpoint)


class ResultFolder:
    """A result folder on disk.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        self.journal_path = path / "journal.jsonl"
        self.checkpoint_path = path / "checkpoint.json"
        self.telemetry_path = path / "telemetry.jsonl"
        self.result_path = path / "result.json"
        self.histograms_path = path / "histograms.hlog"

    @classmethod
    def create(cls, path: Path | None, scenario_name: str) -> ResultFolder:
        """Make the folder; ``results/<scenario>-<time>`` by default.

        Raises:
            ResultFolderError: It holds files already, or can't be made.
        """
        path = free_default(scenario_name) if path is None else path
        try:
            path.mkdir(parents=True, exist_ok=True)
            is_used = any(path.iterdir())
        except OSError as error:
            raise ResultFolderError(
                f"{path} can't be made ({error.strerror}); give another folder with --output"
            ) from error
        if is_used:
            raise ResultFolderError(f"{path} holds files already; give another folder with --output")
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> ResultFolder:
        """The folder of an old run; one of its files will do as well.

        Raises:
            ResultFolderError: There is no run in it.
        """
        folder = cls(path.parent if path.is_file() else path)
        if not folder.manifest_path.is_file():
            fault = "it has no manifest.json" if path.exists() else "there is nothing of that name"
            raise ResultFolderError(f"{path} is no result folder: {fault}")
        return folder

    def save(self, document: Manifest | Checkpoint) -> None:
        """Write manifest or checkpoint, whole or not at all, without secrets.

        Raises:
            ResultFolderError: It can't be written.
        """
        path = self.checkpoint_path
        if isinstance(document, Manifest):
            path = self.manifest_path
            document = structs.replace(document, scenario=without_secrets(document.scenario))
        try:
            write_json(path, document)
        except OSError as error:
            raise ResultFolderError(
                f"{path} can't be written ({error.strerror}); is the disk full?"
            ) from error

    def manifest(self) -> Manifest:
        """The manifest.

        Raises:
            ResultFolderError: It can't be read, or is of another version.
        """
        manifest = _read(self.manifest_path, Manifest)
        if manifest.schema_version != SCHEMA_VERSION:
            raise ResultFolderError(
                f"{self.manifest_path}: version {manifest.schema_version}, "
                f"this tokenpace reads {SCHEMA_VERSION}"
            )
        return manifest

    def checkpoint(self) -> Checkpoint:
        """The last checkpoint.

        Raises:
            ResultFolderError: It can't be read.
        """
        return _read(self.checkpoint_path, Checkpoint)


def _read(path: Path, kind: type[Document]) -> Document:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise ResultFolderError(f"{path} can't be read ({error.strerror})") from error
    except msgspec.MsgspecError as error:
        raise ResultFolderError(f"{path} is damaged ({error})") from error


def free_default(scenario_name: str) -> Path:
    """``results/<scenario>-<time>``, with a number behind it where that is taken."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", scenario_name).strip("-.") or "run"
    return free(DEFAULT_PARENT / f"{slug}-{time.strftime('%Y%m%d-%H%M%S')}")


def free(base: Path) -> Path:
    """``base``, with a number behind it where that is taken."""
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path
