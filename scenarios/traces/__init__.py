"""Traces of real services: when requests came and how long they and their answers were. Not what they said.

A format is one file of this folder. Its name is the value of ``format`` in a scenario
(``load: {arrivals: replay}``, ``prompts: {source: trace}``). The file holds one function::

    def read(path: Path) -> Iterator[TraceRow]: ...
"""

from __future__ import annotations

import functools
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import structs
from pydantic import AfterValidator

from scenarios.errors import ScenarioError
from scenarios.extensions import extension_names, load_extension
from scenarios.lengths import LONGEST
from scenarios.section import fault
from scenarios.suggestions import did_you_mean
from scenarios.tally import Tally

if TYPE_CHECKING:
    from pathlib import Path


BLOCK_TOKENS: Final = 512


class TraceRow(msgspec.Struct, frozen=True, gc=False):
    """One request of a trace.

    Attributes:
        time_ns: When it came; the origin is the trace's own.
        prompt_tokens: Length of the prompt.
        output_tokens: Length of the answer.
        block_ids: Names of the prompt's blocks of ``BLOCK_TOKENS``, where the trace has them: prompts that
            begin with the same names begin with the same text.
        failed: No answer came there. Such a request is left out.
    """

    time_ns: int
    prompt_tokens: int
    output_tokens: int
    block_ids: tuple[int, ...] = ()
    failed: bool = False


_LENGTH: Final = re.compile(r"\d{1,15}", re.ASCII)


def is_length(text: str) -> bool:
    """Whether ``text`` is a number of tokens."""
    return _LENGTH.fullmatch(text) is not None


def names() -> tuple[str, ...]:
    """All formats, sorted."""
    return extension_names(__name__)


def read_trace(path: Path, name: str) -> list[TraceRow]:
    """The rows of a trace in order of time, the first at 0. Kept for whoever asks next: don't change them.

    Raises:
        ScenarioError: A row can't be read, or there is none, or one is longer than any context. The message
            names the file and, where one is at fault, the line or the lengths.
    """
    return _read(path, name, path.stat().st_mtime_ns).rows


def trace_notes(path: Path, name: str) -> tuple[str, ...]:
    """What of the trace was left out or changed.

    Raises:
        ScenarioError: As ``read_trace``.
    """
    return _read(path, name, path.stat().st_mtime_ns).notes


class _Read(msgspec.Struct, frozen=True):
    rows: list[TraceRow]
    notes: tuple[str, ...]


@functools.lru_cache(maxsize=2)
def _read(path: Path, name: str, changed_ns: int) -> _Read:
    del changed_ns  # of the file: one that was written anew is read anew
    try:
        written = list(load_extension(__name__, name).read(path))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from error
    notes = _changes(written).notes(path.name, len(written))
    rows = sorted((row for row in written if not row.failed), key=attrgetter("time_ns"))
    if not rows:
        raise ScenarioError("; ".join([f"{path}: a trace without a request", *notes]))
    _check_lengths(path, rows)
    start_ns = rows[0].time_ns
    return _Read([structs.replace(row, time_ns=row.time_ns - start_ns) for row in rows], notes)


def _changes(written: list[TraceRow]) -> Tally:
    tally = Tally()
    latest_ns = None
    for row in written:
        if row.failed:
            tally.add("requests left out because they failed there")
        elif latest_ns is not None and row.time_ns < latest_ns:
            tally.add("requests put in order of time")
        else:
            latest_ns = row.time_ns
    return tally


def _check_lengths(path: Path, rows: list[TraceRow]) -> None:
    for what, longest in (
        ("a prompt", max(row.prompt_tokens for row in rows)),
        ("an answer", max(row.output_tokens for row in rows)),
    ):
        if longest > LONGEST:
            raise ScenarioError(f"{path}: {what} of {longest} tokens; at most {LONGEST} are possible")


def _known(name: str) -> str:
    if name not in names():
        raise fault(f"'{name}' is unknown; {did_you_mean(name, names())}")
    return name


Format = Annotated[str, AfterValidator(_known)]
"""A scenario field that names a format."""
