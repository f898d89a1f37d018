"""Files that a scenario names: relative to the folder of the scenario itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo

from scenarios.section import fault

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def read_data(path: Path) -> bytes:
    """What a file of UTF-8 text holds, without the byte order mark that some programs begin it with."""
    return path.read_bytes().removeprefix(_BYTE_ORDER_MARK)


def _resolve(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, str | Path):
        raise fault(f"must be the path of a file, not {value!r}")
    folder: Path = (info.context or {}).get("folder", Path())
    path = folder / Path(value).expanduser()
    if not path.is_file():
        raise fault(f"no file {path}")
    return path


DataFile = Annotated[Path, BeforeValidator(_resolve), PlainSerializer(str, return_type=str, when_used="json")]
"""A scenario field that names a file which is there."""
