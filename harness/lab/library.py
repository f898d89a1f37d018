"""The experiments that come with the product: one YAML file each, named by its file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.lab.errors import LabError
from scenarios.suggestions import did_you_mean

FOLDER: Final = Path(__file__).parent / "experiments"


def names() -> tuple[str, ...]:
    """Names of all of them, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def locate(source: str) -> Path:
    """The file that a command line names: a path, or an experiment of the library.

    Raises:
        LabError: There is neither.
    """
    path = Path(source)
    if path.is_file():
        return path
    if path.suffix or len(path.parts) > 1:
        raise LabError(f"{path}: no such file")
    if source not in names():
        raise LabError(f"no experiment '{source}' in the library; {did_you_mean(source, names())}")
    return FOLDER / f"{source}.yaml"
