"""The plugin's settings: each an option, an ini key and an environment variable of one name.

``--sla-endpoint``, ``sla_endpoint``, ``SLA_ENDPOINT``: the first that is given wins.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pytest


class Setting(NamedTuple):
    """One setting.

    Attributes:
        name: Without the prefix.
        metavar: For the help page.
        help: Likewise.
    """

    name: str
    metavar: str
    help: str


SETTINGS: Final = (
    Setting("endpoint", "URL", "address of the server under test, such as http://127.0.0.1:8000"),
    Setting("model", "NAME", "name of the model; the server is asked where it isn't given"),
    Setting(
        "baseline", "NAME", "baseline or result folder to compare with; objectives may be relative to it"
    ),
    Setting("baselines", "DIR", "where baselines are; .tokenpace/baselines under pytest's root by default"),
    Setting("results", "DIR", "where result folders go; by default pytest's cache"),
)


def add_options(parser: pytest.Parser) -> None:
    """Make the settings known to pytest."""
    group = parser.getgroup("sla", "load and SLA tests of language-model servers (tokenpace)")
    for setting in SETTINGS:
        twins = f"ini sla_{setting.name}, environment {_variable(setting.name)}"
        group.addoption(
            f"--sla-{setting.name}", metavar=setting.metavar, default=None, help=f"{setting.help} ({twins})"
        )
        parser.addini(f"sla_{setting.name}", help=setting.help, default="")


def value_of(config: pytest.Config, name: str) -> str | None:
    """A setting's value; None where nobody gave one."""
    given = config.getoption(f"sla_{name}") or os.environ.get(_variable(name)) or config.getini(f"sla_{name}")
    return str(given) if given else None


def api_key() -> str | None:
    """The key, from the environment alone: a command line can be read by others."""
    return os.environ.get("SLA_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _variable(name: str) -> str:
    return f"SLA_{name.upper()}"
