"""``tokenizer.json``, the file itself or the folder of a model that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.errors import ScenarioError
from scenarios.tokenizers._library import library

if TYPE_CHECKING:
    from pathlib import Path

    import tokenizers


def accepts(path: Path) -> bool:
    """Any folder, and any file that ends in ``.json``."""
    return path.is_dir() or path.suffix == ".json"


def load(path: Path) -> tokenizers.Tokenizer:
    """Read the file.

    Raises:
        ScenarioError: It is missing or broken.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ScenarioError(
            f"tokenizer: {path} holds no tokenizer.json; make it with transformers: "
            "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    try:
        found: tokenizers.Tokenizer = library().Tokenizer.from_file(str(file))
    except ScenarioError:
        raise
    except Exception as error:  # the library raises nothing more special
        raise ScenarioError(f"tokenizer: {file} is no tokenizer ({error}); fetch it again") from error
    return found
