"""The plugin's settings: each an option, an ini key and an environment variable of one name.

``--sla-endpoint``, ``sla_endpoint``, ``SLA_ENDPOINT``: the first that is given wins.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Setting(NamedTuple):
    """One setting.

    Attributes:
        name: Without the prefix.
        metavar: For the help page.
        help: Likewise.
        choices: What it can be; empty for anything.
        wanted: What else it must be, in words.
        check: Whether it is; a ``ValueError`` says no as well.
    """

    name: str
    metavar: str
    help: str
    choices: tuple[str, ...] = ()
    wanted: str = ""
    check: Callable[[str], bool] | None = None

    @property
    def option(self) -> str:
        """On the command line."""
        return f"--sla-{self.name}"

    @property
    def ini(self) -> str:
        """In pytest's configuration file."""
        return f"sla_{self.name}"

    @property
    def variable(self) -> str:
        """In the environment."""
        return f"SLA_{self.name.upper()}"


SETTINGS: Final = (
    Setting("endpoint", "URL", "address of the server under test, such as http://127.0.0.1:8000"),
    Setting(
        "serve",
        "MODEL",
        "model that the bundled server serves for the tests where no endpoint is given, with options of "
        "'tokenpace serve' if need be; 'timetable' serves answers made up at stated times",
    ),
    Setting("model", "NAME", "name of the model; the server is asked where it isn't given"),
    Setting(
        "baseline", "NAME", "baseline or result folder to compare with; objectives may be relative to it"
    ),
    Setting("baselines", "DIR", "where baselines are; .tokenpace/baselines under pytest's root by default"),
    Setting("results", "DIR", "where result folders go; by default pytest's cache"),
    Setting(
        "inconclusive",
        "fail|warn|skip",
        "what an undecided objective does to a test; fail by default",
        choices=("fail", "warn", "skip"),
    ),
    Setting(
        "scale",
        "FACTOR",
        "makes every load so many times as long, at the same rate: 0.1 for a tenth of its requests or time",
        wanted="a number above 0 and below 1,000,000,000",
        check=lambda text: 0 < float(text) < 1e9,
    ),
    Setting(
        "repeat",
        "N",
        "runs every test that uses the fixture load so many times",
        wanted="a whole number from 1 to 1,000",
        check=lambda text: 1 <= int(text) <= 1_000,
    ),
    Setting(
        "report",
        "FILE",
        "writes the table of all objectives there, as Markdown (.md) or JSON (.json)",
        wanted="a file that ends in .md or .json",
        check=lambda text: text.endswith((".md", ".json")),
    ),
)


def add_options(parser: pytest.Parser) -> None:
    """Make the settings known to pytest."""
    group = parser.getgroup("sla", "load and SLA tests of language-model servers (tokenpace)")
    for setting in SETTINGS:
        twins = f"ini {setting.ini}, environment {setting.variable}"
        text = f"{setting.help} ({twins})"
        group.addoption(setting.option, metavar=setting.metavar, default=None, help=text)
        parser.addini(setting.ini, help=setting.help, default="")


def value_of(config: pytest.Config, name: str) -> str | None:
    """A setting's value; None where nobody gave one."""
    setting = next(each for each in SETTINGS if each.name == name)
    return _given(config, setting)[1]


def fault(config: pytest.Config) -> str | None:
    """What is wrong with the settings; None for nothing."""
    for setting in SETTINGS:
        if _is_blank(config.getoption(setting.ini)):
            return (
                f"{setting.option}: it is empty (a variable that isn't set?); "
                f"give {setting.metavar}, or leave the option out"
            )
        place, value = _given(config, setting)
        if value is not None and setting.choices and value not in setting.choices:
            return f"{place}: {value!r} is none of {', '.join(setting.choices)}"
        if value is not None and not _passes(setting, value):
            return f"{place}: {value!r} is not {setting.wanted}"
    return None


def _is_blank(given: object) -> bool:
    return given is not None and not str(given).strip()


def _passes(setting: Setting, value: str) -> bool:
    try:
        return setting.check is None or setting.check(value)
    except ValueError:
        return False


def api_key() -> str | None:
    """The key, from the environment alone: a command line can be read by others."""
    return os.environ.get("SLA_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _given(config: pytest.Config, setting: Setting) -> tuple[str, str | None]:
    """Where a setting was given, and its value; None where nobody gave one."""
    places = (
        (setting.option, config.getoption(setting.ini)),
        (setting.variable, os.environ.get(setting.variable)),
        (f"ini key {setting.ini}", config.getini(setting.ini)),
    )
    return next(((place, str(value)) for place, value in places if value), ("", None))
