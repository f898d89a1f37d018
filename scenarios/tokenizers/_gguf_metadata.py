"""The key-value pairs at the head of a GGUF file, little endian. The tensors behind them are not touched."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_SCALARS: Final = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_metadata(path: Path) -> dict[str, Any]:
    """All pairs; arrays are lists.

    Raises:
        ScenarioError: It is no GGUF file of a known version, or is cut short.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, ValueError, KeyError, RecursionError, struct.error) as error:
        raise ScenarioError(
            f"tokenizer: {path} is no readable GGUF file ({error}); fetch it again"
        ) from error


def _read(file: BinaryIO) -> dict[str, Any]:
    if _take(file, len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin with GGUF")
    version, _, num_pairs = _number(file, "I"), _number(file, "Q"), _number(file, "Q")
    if version not in _VERSIONS:
        raise ValueError(f"version {version}")
    return {_string(file): _value(file, _number(file, "I")) for _ in range(num_pairs)}


def _value(file: BinaryIO, kind: int) -> Any:  # noqa: ANN401  # whatever the file holds
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _SCALARS[kind])
    inner, length = _number(file, "I"), _number(file, "Q")
    if inner in (_STRING, _ARRAY):
        return [_value(file, inner) for _ in range(length)]
    code = f"<{length}{_SCALARS[inner]}"
    return list(struct.unpack(code, _take(file, struct.calcsize(code))))


def _string(file: BinaryIO) -> str:
    return _take(file, _number(file, "Q")).decode("utf-8", "replace")


def _number(file: BinaryIO, code: str) -> Any:  # noqa: ANN401  # int, float or bool, as the code says
    return struct.unpack(f"<{code}", _take(file, struct.calcsize(f"<{code}")))[0]


def _take(file: BinaryIO, size: int) -> bytes:
    if size > os.fstat(file.fileno()).st_size:
        raise ValueError("it is cut short")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("it is cut short")
    return data
