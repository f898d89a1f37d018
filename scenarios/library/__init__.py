"""The scenarios that come with the product: one YAML file each, named by its file's name."""

from __future__ import annotations

from pathlib import Path

from scenarios.errors import ScenarioError
from scenarios.suggestions import did_you_mean

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Names of all of them, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def find(name: str) -> Path:
    """The file of a scenario of the library.

    Raises:
        ScenarioError: There is none of that name.
    """
    if name not in names():
        raise ScenarioError(f"no scenario '{name}' in the library; {did_you_mean(name, names())}")
    return FOLDER / f"{name}.yaml"
