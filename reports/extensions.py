"""Extensions that are found by themselves: modules of a package, named as an option names them.

A module whose name begins with an underscore is none.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def extension_names(package: str) -> tuple[str, ...]:
    """All extensions in a package, sorted; none is imported for this."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return tuple(sorted(module.name for module in found if not module.name.startswith("_")))


def load_extension(package: str, name: str) -> ModuleType:
    """Import the extension of that name."""
    return importlib.import_module(f"{package}.{name}")
