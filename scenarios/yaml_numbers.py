"""YAML whose numbers are what people take them for.

PyYAML reads YAML 1.1, in which ``1e9`` is a text, ``010`` is eight and ``1:30`` is ninety. Here the first is
a number and the others are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

INT: Final = "tag:yaml.org,2002:int"
FLOAT: Final = "tag:yaml.org,2002:float"
_WITH_EXPONENT: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+", re.ASCII)
_OCTAL: Final = re.compile(r"[-+]?0[0-7_]+", re.ASCII)


class Loader(yaml.SafeLoader):
    """``yaml.SafeLoader`` for numbers as YAML 1.2 has them.

    Raises:
        ScenarioError: While it constructs a number that YAML 1.1 reads as another.
    """


def misread(node: yaml.Node) -> str | None:
    """What YAML 1.1 makes of a number that means another to people, and what to write; None if it doesn't."""
    if not isinstance(node, yaml.ScalarNode) or node.tag not in (INT, FLOAT):
        return None
    text = node.value
    if ":" in text:
        remedy = "write a plain number, or a duration such as 1m30s; a text stands in quotes"
        return f"{text} counts in sixties in YAML; {remedy}"
    if node.tag == INT and _OCTAL.fullmatch(text):
        plain = re.sub(r"^([-+]?)[0_]+(?=\d)", r"\1", text)
        return f"{text} is {int(text, 8)} in YAML, an octal number; write {plain}; a text stands in quotes"
    return None


def _refusing(
    construct: Callable[[yaml.SafeLoader, yaml.ScalarNode], float],
) -> Callable[[yaml.SafeLoader, yaml.ScalarNode], float]:
    def constructed(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
        if (hint := misread(node)) is not None:
            raise ScenarioError(hint)
        return construct(loader, node)

    return constructed


Loader.add_implicit_resolver(FLOAT, _WITH_EXPONENT, list("-+.0123456789"))
Loader.add_constructor(INT, _refusing(yaml.SafeLoader.construct_yaml_int))
Loader.add_constructor(FLOAT, _refusing(yaml.SafeLoader.construct_yaml_float))
