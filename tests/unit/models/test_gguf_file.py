"""The container against files that the ``gguf`` library wrote, and against broken ones."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest

from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.gguf_file import GGUFFile

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = ["a", "Ġb", "日本", "🌊", ""]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every kind of value, an odd alignment and three kinds of tensors."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    writer.add_uint32("llama.block_count", 7)
    writer.add_float32("llama.rope.freq_base", 0.5)
    writer.add_float64("x.double", 1.25)
    writer.add_int64("x.long", -(2**40))
    writer.add_bool("x.flag", True)
    writer.add_string("general.name", "Größe")
    writer.add_array("tokenizer.ggml.tokens", TOKENS)
    writer.add_array("x.numbers", [1, -2, 3])
    writer.add_array("x.nested", [[1, 2], [3]])
    numbers = np.linspace(-1, 1, 3 * 64, dtype=np.float32).reshape(3, 64)
    writer.add_tensor("plain", numbers)
    writer.add_tensor("vector", numbers[0])
    quantized = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("packed", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_metadata_is_what_was_written(path: Path) -> None:
    metadata = GGUFFile(path).metadata
    assert metadata["general.architecture"] == "llama"
    assert metadata["llama.block_count"] == 7
    assert metadata["llama.rope.freq_base"] == 0.5
    assert metadata["x.double"] == 1.25
    assert metadata["x.long"] == -(2**40)
    assert metadata["x.flag"] is True
    assert metadata["general.name"] == "Größe"
    assert metadata["tokenizer.ggml.tokens"] == TOKENS
    assert metadata["x.numbers"] == [1, -2, 3]
    assert metadata["x.nested"] == [[1, 2], [3]]


def test_tensors_are_those_of_the_library_s_reader(path: Path) -> None:
    tensors = GGUFFile(path).tensors
    expected = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert tensor.type == expected[name].tensor_type
        assert tensor.shape == tuple(reversed(expected[name].shape.tolist()))
        assert tensor.data.tobytes() == expected[name].data.tobytes()


def test_a_file_cut_anywhere_is_refused(path: Path, tmp_path: Path) -> None:
    content, cut = path.read_bytes(), tmp_path / "cut.gguf"
    for length in range(0, len(content) - 64, 37):  # what pads the end is not missed
        cut.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match=r"cut\.gguf.*fetch it again"):
            GGUFFile(cut)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(CheckpointError, match="does not begin with GGUF"):
        GGUFFile(path)


def test_an_unknown_version_is_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "future.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 9, 0, 0))
    with pytest.raises(UnsupportedModelError, match="version 9"):
        GGUFFile(path)


def test_an_absurd_count_is_refused_without_allocating(tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62))
    with pytest.raises(CheckpointError, match="cut short"):
        GGUFFile(path)
