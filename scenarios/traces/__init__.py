"""Traces of real services: when requests came and how long they and their answers were. Not what they said.

A format is one file of this folder. Its name is the value of ``format`` in a scenario
(``load: {arrivals: replay}``, ``prompts: {source: trace}``). The file holds one function::

    def read(path: Path) -> Iterator[TraceRow]: ...
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import structs
from pydantic import AfterValidator

from scenarios.errors import ScenarioError
from scenarios.lengths import LONGEST
from scenarios.section import fault
from scenarios.suggestions import did_you_mean

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
    """

    time_ns: int
    prompt_tokens: int
    output_tokens: int
    block_ids: tuple[int, ...] = ()


_LENGTH: Final = re.compile(r"\d{1,15}", re.ASCII)


def is_length(text: str) -> bool:
    """Whether ``text`` is a number of tokens."""
    return _LENGTH.fullmatch(text) is not None


def names() -> tuple[str, ...]:
    """All formats, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def read_trace(path: Path, name: str) -> list[TraceRow]:
    """The rows of a trace in order of time, the first at 0. Kept for whoever asks next: don't change them.

    Raises:
        ScenarioError: A row can't be read, or there is none, or one is longer than any context. The message
            names the file and, where one is at fault, the line or the lengths.
    """
    return _read(path, name, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)
def _read(path: Path, name: str, changed_ns: int) -> list[TraceRow]:
    del changed_ns  # of the file: one that was written anew is read anew
    try:
        rows = sorted(importlib.import_module(f"{__name__}.{name}").read(path), key=attrgetter("time_ns"))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from error
    if not rows:
        raise ScenarioError(f"{path}: a trace without a request")
    longest = max(row.prompt_tokens for row in rows)
    if longest > LONGEST:
        raise ScenarioError(f"{path}: a prompt of {longest} tokens; at most {LONGEST} are possible")
    start_ns = rows[0].time_ns
    return [structs.replace(row, time_ns=row.time_ns - start_ns) for row in rows]


def _known(name: str) -> str:
    if name not in names():
        raise fault(f"'{name}' is unknown; {did_you_mean(name, names())}")
    return name


Format = Annotated[str, AfterValidator(_known)]
"""A scenario field that names a format."""
