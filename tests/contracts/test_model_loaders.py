"""What every loader of checkpoints must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reference_server.extensions import extension_names, load_extension
from reference_server.models import loaders
from reference_server.models.errors import ModelNotFoundError
from reference_server.models.loaders import load_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

NAMES = extension_names(loaders)


@pytest.mark.parametrize("name", NAMES)
def test_a_loader_refuses_what_is_not_of_its_kind(name: str, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    loader = load_extension(loaders, name)
    assert not any(loader.accepts(str(model)) for model in ("", "no-such-model", other, tmp_path))


def test_tiny_random_is_complete_and_drawn_from_its_seed() -> None:
    first, again, other = (load_checkpoint("tiny-random", seed) for seed in (1, 1, 2))
    for name, tensor in first.tensors.items():
        dense = tensor.read()
        assert tuple(dense.shape) == tensor.shape
        assert dense.equal(again.tensors[name].read())
    name = "model.layers.0.mlp.up_proj.weight"
    assert not first.tensors[name].read().equal(other.tensors[name].read())
    assert sum(tensor.numel for tensor in first.tensors.values()) < 500_000


def test_nothing_at_all_is_a_clear_error() -> None:
    with pytest.raises(ModelNotFoundError, match=r"no model at 'x\.bin'; give a \.gguf file"):
        load_checkpoint("x.bin")
