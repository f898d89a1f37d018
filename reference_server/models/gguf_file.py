"""The GGUF container: metadata at once, tensors as views of the mapped file. Needs no torch.

Layout as in llama.cpp's specification: header, key-value pairs, tensor descriptions, then aligned data, all
little endian. Read here and not by the ``gguf`` library's reader, which takes seconds over a vocabulary.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from reference_server.models.errors import CheckpointError, UnsupportedModelError

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True)
class GGUFTensor:
    """One tensor as it lies in the file.

    Attributes:
        name: As llama.cpp names it.
        shape: Rows first.
        type: How its numbers are stored.
        data: uint8 ``[rows, bytes of a row]``, mapped.
    """

    name: str
    shape: tuple[int, ...]
    type: GGMLQuantizationType
    data: npt.NDArray[np.uint8]


def is_gguf(path: Path) -> bool:
    """Whether there is a file that begins as GGUF does, or whose name says so."""
    if not path.is_file():
        return False
    if path.suffix == ".gguf":
        return True
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class GGUFFile:
    """An opened GGUF file.

    Attributes:
        metadata: All key-value pairs; arrays are lists.
        tensors: By name.

    Raises:
        CheckpointError: It is no GGUF file, or cut short.
        UnsupportedModelError: Its version, byte order or a tensor's type is unknown.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._bytes = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
            self._read()
        except (OSError, ValueError, struct.error) as error:
            raise CheckpointError(f"{path} is not a readable GGUF file ({error}); fetch it again") from error

    def _read(self) -> None:
        cursor = _Cursor(self._bytes.data)
        if cursor.take(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version = cursor.number("I")
        if version not in _VERSIONS:
            raise UnsupportedModelError(f"GGUF version {version} is not supported; versions 2 and 3 are")
        num_tensors, num_pairs = cursor.number("Q"), cursor.number("Q")
        self.metadata = {cursor.string(): cursor.value() for _ in range(num_pairs)}
        descriptions = [_describe(cursor) for _ in range(num_tensors)]
        alignment = self.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        start = -(-cursor.position // alignment) * alignment
        self.tensors = {d.name: self._tensor(d, start) for d in descriptions}

    def _tensor(self, description: _Description, start: int) -> GGUFTensor:
        *outer, columns = description.shape
        block_size, block_bytes = GGML_QUANT_SIZES[description.type]
        rows, row_bytes = int(np.prod(outer, dtype=np.int64)), columns // block_size * block_bytes
        begin = start + description.offset
        data = self._bytes[begin : begin + rows * row_bytes].reshape(rows, row_bytes)
        return GGUFTensor(description.name, description.shape, description.type, data)


@dataclass(frozen=True)
class _Description:
    name: str
    shape: tuple[int, ...]
    type: GGMLQuantizationType
    offset: int


def _describe(cursor: _Cursor) -> _Description:
    name = cursor.string()
    shape = [cursor.number("Q") for _ in range(cursor.number("I"))]
    number, offset = cursor.number("I"), cursor.number("Q")
    try:
        kind = GGMLQuantizationType(number)
    except ValueError as error:
        raise UnsupportedModelError(f"{name} is stored in the unknown type {number}") from error
    return _Description(name, tuple(reversed(shape)), kind, offset)


class _Cursor:
    """Takes typed values from the front of a buffer."""

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self.position = 0

    def take(self, size: int) -> bytes:
        begin, self.position = self.position, self.position + size
        if self.position > len(self._buffer):
            raise ValueError("it is cut short")
        return self._buffer[begin : self.position].tobytes()

    def number(self, code: str) -> Any:  # noqa: ANN401  # int, float or bool, as the code says
        return self.numbers(code, 1)[0]

    def numbers(self, code: str, count: int) -> tuple[Any, ...]:
        return struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize(f"<{code}")))

    def string(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", errors="replace")

    def value(self) -> Any:  # noqa: ANN401  # whatever the file holds
        return self._typed(self.number("I"))

    def _typed(self, kind: int) -> Any:  # noqa: ANN401  # whatever the file holds
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(_scalar_code(kind))
        element, count = self.number("I"), self.number("Q")
        if element in (_STRING, _ARRAY):
            return [self._typed(element) for _ in range(count)]
        return list(self.numbers(_scalar_code(element), count))


def _scalar_code(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"it holds a value of unknown type {kind}")
    return _SCALARS[kind]
