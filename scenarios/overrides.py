"""Values set from outside the scenario file: ``load.rate=5``."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import yaml

from scenarios.documents import YAML_ERRORS
from scenarios.errors import ScenarioError
from scenarios.yaml_numbers import Loader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenarios.documents import Document


def override(document: Document, overrides: Mapping[str, str]) -> Document:
    """``document`` with ``overrides``, dotted keys to values as YAML reads them.

    ``load.requests=null`` (or nothing after the ``=``) takes the key away; ``prompts.text=[one, two]`` and
    ``load={arrivals: closed, concurrency: 8, requests: 64}`` set lists and whole sections.

    Raises:
        ScenarioError: A key leads through something that is no section.
    """
    data = copy.deepcopy(document.data)
    for name, text in overrides.items():
        _put(data, name, _value(name, text))
    return document._replace(data=data, overridden=frozenset(tuple(name.split(".")) for name in overrides))


def _put(data: dict[str, Any], name: str, value: object) -> None:
    *sections, last = name.split(".")
    if not all((*sections, last)):
        raise ScenarioError(f"--set {name}: not a key; write it with dots, such as load.rate=5")
    for depth, section in enumerate(sections, start=1):
        inner = data.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ScenarioError(
                f"--set {name}: {'.'.join(sections[:depth])} is no section; set it as a whole"
            )
        data = inner
    if value is None:
        data.pop(last, None)
    else:
        data[last] = value


def _value(name: str, text: str) -> object:
    try:
        value = yaml.load(text, Loader)  # noqa: S506 (a safe loader by descent)
    except ScenarioError as error:
        raise ScenarioError(f"--set {name}: {error}") from error
    except YAML_ERRORS:  # such as "> 0.9", which YAML takes for the head of a block
        return text
    is_word = name.startswith("tags.") and isinstance(value, int | float) and not isinstance(value, bool)
    return text.strip() if is_word else value
