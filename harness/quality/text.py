"""The text that quality is measured on."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from harness.quality.errors import QualityError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path | None) -> str:
    """The text of a file, or the one that ships, under the project's own licence (Apache-2.0).

    Raises:
        QualityError: It can't be read, or is no UTF-8.
    """
    if path is None:
        return files("harness.quality").joinpath("sample_text.txt").read_text(encoding="utf-8")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise QualityError(f"{path} can't be read ({error.strerror}); give a text file") from error
    except UnicodeDecodeError as error:
        raise QualityError(f"{path} is no UTF-8 text (byte {error.start}); convert it first") from error


def windows(token_ids: list[int], size: int) -> list[list[int]]:
    """The tokens cut into windows of ``size``, each scored by itself; one that predicts nothing is left out.

    Raises:
        QualityError: Nothing is left.
    """
    cut = [token_ids[begin : begin + size] for begin in range(0, len(token_ids), size)]
    scored = [window for window in cut if len(window) > 1]
    if not scored:
        raise QualityError("the text is shorter than two tokens, which predicts nothing; give a longer one")
    return scored
