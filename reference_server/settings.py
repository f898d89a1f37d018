"""From file, environment and command line to one configuration. What stands later in that list wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from reference_server.config import ServerConfig
from reference_server.not_built import NOT_BUILT
from reference_server.suggest import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

ENV_PREFIX = "TOKENPACE_SERVE_"
_SECRET = "api_key"  # noqa: S105  # the name of the setting, no secret


class ConfigError(ValueError):
    """The configuration can't be used. One line for each fault names the setting and where it stands."""


class _Given(NamedTuple):
    """A setting as it was given.

    Attributes:
        name: With underscores.
        value: Not yet checked.
        spell: How settings are written in its place.
        place: What follows in messages, such as " in serve.yaml".
    """

    name: str
    value: Any
    spell: Callable[[str], str]
    place: str = ""

    @property
    def label(self) -> str:
        return self.spell(self.name) + self.place


def load_config(
    file: Path | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> ServerConfig:
    """Read, merge and check.

    Args:
        file: YAML with one setting per line, or None.
        environ: ``TOKENPACE_SERVE_<NAME>``; empty values count as not set.
        flags: Values of command-line options by setting; None counts as not given.

    Raises:
        ConfigError: A setting is unknown, not built or has an unfit value, or the file can't be read.
    """
    given = [
        *(_from_file(file) if file is not None else ()),
        *_from_environ(environ or {}),
        *(_Given(name, value, flag) for name, value in (flags or {}).items() if value is not None),
    ]
    faults = [_fault_of_name(setting) for setting in given if setting.name not in ServerConfig.model_fields]
    if faults:
        raise ConfigError("\n".join(faults))
    merged = {setting.name: setting for setting in given}
    try:
        return ServerConfig(**{name: setting.value for name, setting in merged.items()})
    except ValidationError as error:
        raise ConfigError("\n".join(_fault_of_value(e, merged) for e in error.errors())) from None


def flag(name: str) -> str:
    """The command-line option of a setting."""
    return f"--{name.replace('_', '-')}"


def unknown_flag(option: str) -> str:
    """Why a command-line option is refused."""
    name = option.removeprefix("--").replace("-", "_")
    return _fault_of_name(_Given(name.removeprefix("no_"), None, flag))


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper()


def _from_file(path: Path) -> Iterable[_Given]:
    # Only those who use a file wait for the import.
    from reference_server.yaml_file import read_mapping

    try:
        content = read_mapping(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    seen: set[str] = set()
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name in seen:
            raise ConfigError(f"{path} sets {name} twice; keep one")
        seen.add(name)
        yield _Given(name, value, str, f" in {path}")


def _from_environ(environ: Mapping[str, str]) -> Iterable[_Given]:
    for variable, value in environ.items():
        if variable.startswith(ENV_PREFIX) and value:
            yield _Given(variable.removeprefix(ENV_PREFIX).lower(), value, _variable)


def _fault_of_name(setting: _Given) -> str:
    if setting.name in NOT_BUILT:
        return f"{setting.label} is not built yet: {NOT_BUILT[setting.name]}; leave it out"
    known = {setting.spell(name) for name in ServerConfig.model_fields}
    return f"{setting.label} is no setting{suggestion(setting.spell(setting.name), known)}"


def _fault_of_value(error: ErrorDetails, merged: Mapping[str, _Given]) -> str:
    setting = merged[str(error["loc"][0])]
    shown = "" if setting.name == _SECRET else f" is {setting.value!r}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{setting.label}{shown}: {message}"
