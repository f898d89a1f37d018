"""Scenario files as mappings, YAML or TOML, that know the line of each key."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from scenarios.errors import ScenarioError
from scenarios.yaml_numbers import FLOAT, INT, Loader, misread

if TYPE_CHECKING:
    from pathlib import Path

Key = tuple[str | int, ...]

YAML_ERRORS: Final = (yaml.YAMLError, ValueError, AttributeError, KeyError, TypeError, RecursionError)
"""What PyYAML raises; only the first is documented (``!!int x`` is a ValueError, ``!!bool x`` a KeyError)."""


class Document(NamedTuple):
    """A scenario as written.

    Attributes:
        data: Plain mappings, lists and scalars.
        name: The file's name, or what stands in for it; begins every message.
        lines: Line of a key, from 1; empty where the format doesn't tell.
        folder: Where relative paths in it start.
        overridden: Keys set from outside the file.
    """

    data: dict[str, Any]
    name: str
    lines: dict[Key, int]
    folder: Path
    overridden: frozenset[Key] = frozenset()

    def place(self, key: Key) -> str:
        """Where ``key`` was written: ``chat.yaml:7``, ``--set``, or the document's name.

        A section of which a part was set from outside was written in both places.
        """
        parts = sorted(each for each in self.overridden if len(each) > len(key) and each[: len(key)] == key)
        if any(key[: len(each)] == each for each in self.overridden):
            return "--set"
        for end in range(len(key), 0, -1):
            if key[:end] in self.lines:
                place = f"{self.name}:{self.lines[key[:end]]}"
                return ", ".join([place, *(f"--set {dotted(part)}" for part in parts)])
        return "--set" if parts else self.name


def read_document(path: Path) -> Document:
    """Read a scenario file.

    Raises:
        ScenarioError: The file is missing, is neither YAML nor TOML, or holds a key twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from error
    if path.suffix == ".toml":
        return Document(_parse_toml(text, str(path)), str(path), {}, path.parent)
    if path.suffix in (".yaml", ".yml"):
        lines: dict[Key, int] = {}
        return Document(parse_yaml(text, str(path), lines), str(path), lines, path.parent)
    raise ScenarioError(f"{path}: unknown kind of file; a scenario ends in .yaml, .yml or .toml")


def _parse_toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"{name}: not valid TOML: {error}") from error


def parse_yaml(text: str, name: str, lines: dict[Key, int]) -> dict[str, Any]:
    """The mapping that ``text`` holds; the line of each key is noted in ``lines``.

    Raises:
        ScenarioError: Not YAML, not a mapping, or a key stands twice in one mapping.
    """
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ScenarioError(f"{name}: holds no scenario; write keys such as load: and prompts:")
        _note_lines(node, (), name, lines, set())
        data: dict[str, Any] = loader.construct_document(node)
        return data
    except YAML_ERRORS as error:
        raise _explain(error, name) from error


def _note_lines(node: yaml.Node, key: Key, name: str, lines: dict[Key, int], seen: set[int]) -> None:
    if id(node) in seen:  # an alias: its lines are those of the anchor
        return
    seen.add(id(node))
    _check_number(node, key, name)
    if isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            lines[*key, index] = each.start_mark.line + 1
            _note_lines(each, (*key, index), name, lines, seen)
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            child = (*key, _plain_key(key_node, key, name))
            line = key_node.start_mark.line + 1
            if child in lines:
                raise ScenarioError(f"{name}:{line}: {dotted(child)}: already set in line {lines[child]}")
            lines[child] = line
            _note_lines(value_node, child, name, lines, seen)


def _check_number(node: yaml.Node, key: Key, name: str) -> None:
    """Refuse a number that YAML reads as another; one that is a tag is a word, as it was written."""
    if key[:1] == ("tags",) and node.tag in (INT, FLOAT):
        node.tag = "tag:yaml.org,2002:str"
    if (hint := misread(node)) is not None:
        raise ScenarioError(f"{name}:{node.start_mark.line + 1}: {dotted(key)}: {hint}")


def _plain_key(node: yaml.Node, parent: Key, name: str) -> str:
    if isinstance(node, yaml.ScalarNode) and node.tag in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
        return str(node.value)
    where = f"{name}:{node.start_mark.line + 1}: {dotted(parent) or 'top level'}"
    raise ScenarioError(f"{where}: the key {node.value!r} is no plain word in YAML; put it in quotes")


def dotted(key: Key) -> str:
    """``('thresholds', 'ttft', 0)`` as people write it: ``thresholds.ttft[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def _explain(error: Exception, name: str) -> ScenarioError:
    if isinstance(error, ScenarioError):
        return error
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return ScenarioError(f"{name}: not valid YAML: {error}")
    mark = error.problem_mark
    if error.problem == "but found another document":
        return ScenarioError(f"{name}:{mark.line + 1}: a second document; a scenario is one, without ---")
    hint = "; put a value that begins with > or | in quotes" if "block scalar" in str(error.context) else ""
    return ScenarioError(
        f"{name}:{mark.line + 1}: not valid YAML: {error.problem}, column {mark.column + 1}{hint}"
    )
