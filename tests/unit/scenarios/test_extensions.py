"""What is found in a folder of extensions, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from scenarios.extensions import extension_class, extension_names

if TYPE_CHECKING:
    from pathlib import Path

ONE = "import json\n\nclass Encoder(json.JSONEncoder):\n    pass\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Encoders of JSON: one that is right, two that aren't, and a helper."""
    folder = tmp_path / f"extensions_of_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    texts = {"one": ONE, "two": ONE + ONE.replace(" Encoder", " Other"), "none": "", "_help": ""}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


def test_names_are_sorted_and_helpers_are_none(package: str) -> None:
    assert extension_names(package) == ("none", "one", "two")


def test_an_imported_class_is_not_the_module_s_own(package: str) -> None:
    found = extension_class(package, "one", json.JSONEncoder)
    assert (found.__name__, found.__module__) == ("Encoder", f"{package}.one")


@pytest.mark.parametrize("name", ["two", "none"])
def test_a_file_that_does_not_hold_one_is_refused_by_name(package: str, name: str) -> None:
    with pytest.raises(LookupError, match=rf"{package}\.{name} must hold one subclass of JSONEncoder"):
        extension_class(package, name, json.JSONEncoder)
