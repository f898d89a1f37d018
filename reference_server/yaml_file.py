"""YAML files that hold one mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path


def read_mapping(path: Path) -> dict[Any, Any]:
    """The mapping in a file; an empty file is an empty one.

    Raises:
        OSError: The file can't be opened.
        ValueError: It holds something else, a key twice, or no YAML. The message names the line.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)  # noqa: S506  # a safe loader
    except yaml.YAMLError as error:
        raise ValueError(f"it is no YAML ({' '.join(str(error).split())})") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError("it should hold lines of the form 'name: value'")
    return content


class _UniqueKeys(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that stands there twice."""
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            names = [key.value for key, _ in node.value]
            twice = next(name for name in names if names.count(name) > 1)
            raise yaml.constructor.ConstructorError(
                None, None, f"{twice!r} stands there twice", node.start_mark
            )
        return mapping
