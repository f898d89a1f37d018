"""What every loader of tokenizers and chat templates must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reference_server.extensions import extension_names, load_extension
from reference_server.text import loaders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", extension_names(loaders))
def test_a_loader_refuses_what_is_not_of_its_kind(name: str, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    loader = load_extension(loaders, name)
    assert not any(loader.accepts(str(model)) for model in ("", "no-such-model", other))
    assert callable(loader.load)


def test_no_two_loaders_take_the_same_model(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    all_loaders = [load_extension(loaders, name) for name in extension_names(loaders)]
    for model in ("tiny-random", str(file), str(tmp_path)):
        assert sum(loader.accepts(model) for loader in all_loaders) == 1
