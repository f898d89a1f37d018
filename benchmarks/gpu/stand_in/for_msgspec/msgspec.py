"""Takes msgspec's place where it is not installed: classes whose instances hold fields by keyword, no more.

``benchmarks/gpu.sh`` puts this folder on Python's path where nothing can be installed.
"""

from __future__ import annotations

import inspect
from typing import Self


class Struct:
    """Fields are the annotations of a class and of those it comes from; defaults are its attributes."""

    def __init_subclass__(cls, **_: object) -> None:
        names = [name for base in reversed(cls.__mro__) for name in inspect.get_annotations(base)]
        cls.__struct_fields__ = tuple(dict.fromkeys(names))

    def __new__(cls, *values: object, **fields: object) -> Self:
        """Take each field's value, or its default."""
        self = super().__new__(cls)
        given = dict(zip(cls.__struct_fields__, values, strict=False)) | fields
        for name in cls.__struct_fields__:
            setattr(self, name, given[name] if name in given else getattr(cls, name))
        return self
