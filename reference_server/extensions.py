"""Extensions that are found by themselves: files in a folder, named as the configuration names them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def extension_names(package: ModuleType) -> list[str]:
    """Names of the files in ``package`` that are extensions, sorted.

    Subfolders and files whose name begins with an underscore are none. Underscores read as dashes.
    """
    found = pkgutil.iter_modules(package.__path__)
    return sorted(m.name.replace("_", "-") for m in found if not m.ispkg and not m.name.startswith("_"))


def load_extension(package: ModuleType, name: str) -> ModuleType:
    """Import one extension by the name that :func:`extension_names` lists.

    Raises:
        KeyError: There is none of this name.
    """
    if name not in extension_names(package):
        raise KeyError(name)
    return importlib.import_module(f"{package.__name__}.{name.replace('-', '_')}")
