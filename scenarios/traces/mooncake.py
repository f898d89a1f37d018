"""Mooncake traces: a JSON object a line with timestamp (ms), input_length, output_length and hash_ids.

Source: kvcache-ai/Mooncake, FAST25-release/traces. Each hash id stands for a block of 512 tokens and all
blocks before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from scenarios.errors import ScenarioError
from scenarios.files import read_data
from scenarios.traces import BLOCK_TOKENS, TraceRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_LONGEST_MS: Final = 9e12
"""Some 285 years."""
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Line(msgspec.Struct):
    timestamp: Annotated[float, msgspec.Meta(ge=-_LONGEST_MS, le=_LONGEST_MS)]
    input_length: _Count
    output_length: _Count
    hash_ids: tuple[_Count, ...] = ()


def read(path: Path) -> Iterator[TraceRow]:
    """The rows of a trace.

    Raises:
        ScenarioError: A line lacks a field.
    """
    decoder = msgspec.json.Decoder(_Line)
    for number, text in enumerate(read_data(path).split(b"\n"), start=1):
        if text.strip():
            try:
                line = decoder.decode(text)
            except msgspec.MsgspecError as error:
                raise ScenarioError(f"{path}:{number}: {error}") from error
            if line.hash_ids and len(line.hash_ids) != -(-line.input_length // BLOCK_TOKENS):
                raise ScenarioError(
                    f"{path}:{number}: {len(line.hash_ids)} hash_ids don't make {line.input_length} tokens"
                )
            time_ns = round(line.timestamp * 1_000_000)
            yield TraceRow(time_ns, line.input_length, line.output_length, line.hash_ids)
