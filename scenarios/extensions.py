"""Extensions that are found by themselves: modules of a package, named as a scenario or an option names them.

A module whose name begins with an underscore is none.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")


def extension_names(package: str) -> tuple[str, ...]:
    """All extensions in a package, sorted; none is imported for this."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return tuple(sorted(module.name for module in found if not module.name.startswith("_")))


def load_extension(package: str, name: str) -> ModuleType:
    """Import the extension of that name."""
    return importlib.import_module(f"{package}.{name}")


def extension_class(package: str, name: str, base: type[T]) -> type[T]:
    """The class that an extension holds.

    Raises:
        LookupError: The module holds no subclass of ``base``, or several.
    """
    module = load_extension(package, name)
    own = (each for each in vars(module).values() if isinstance(each, type))
    found = [each for each in own if issubclass(each, base) and each.__module__ == module.__name__]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} must hold one subclass of {base.__name__}")
    return found[0]
