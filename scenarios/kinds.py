"""An open set of section classes, one per module of a package: a new kind is one new file."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from scenarios.extensions import extension_class, extension_names
from scenarios.section import Section, fault, fault_at
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationInfo

S = TypeVar("S", bound=Section)


class Kinds(Generic[S]):
    """The kinds found in a package.

    Args:
        package: Name of the package. Each of its modules whose name doesn't begin with an underscore
            holds one subclass of ``base``; the module's name is the name in a scenario.
        key: The key of the section that names the kind.
        base: The contract.
    """

    def __init__(self, package: str, key: str, base: type[S]) -> None:
        self._package = package
        self._key = key
        self._base = base

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """All kinds there are, sorted; none is imported for this."""
        return extension_names(self._package)

    def load(self, name: str) -> type[S]:
        """The class of that kind.

        Raises:
            LookupError: The module holds no subclass of the contract, or several.
        """
        return extension_class(self._package, name, self._base)

    def build(self, data: object, info: ValidationInfo) -> S:
        """The section ``data`` describes, as a validator of the field that holds it."""
        if isinstance(data, self._base):
            return data
        if not isinstance(data, Mapping):
            raise fault(f"must be a section with keys, not {data!r}")
        name = data.get(self._key)
        if name is None:
            raise fault_at(self._key, "missing; one of " + ", ".join(self.names), data)
        if name not in self.names:
            raise fault_at(self._key, f"'{name}' is unknown; {did_you_mean(str(name), self.names)}", name)
        self._check_keys(name, data)
        return self.load(name).model_validate(data, context=info.context)

    def _check_keys(self, name: str, data: Mapping[str, object]) -> None:
        """Refuse a key that belongs to other kinds, and name them."""
        for key in data.keys() - self.load(name).keys():
            if others := ", ".join(other for other in self.names if key in self._keys(other)):
                raise fault_at(str(key), f"{name} has no such key; it is one of {others}", data[key])

    def _keys(self, name: str) -> Collection[str]:
        return self.load(name).keys()
