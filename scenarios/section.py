"""The base of every section of a scenario: closed to unknown keys, frozen, and helpful about mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


class Section(BaseModel):
    """A mapping of known keys. A misspelt key is refused with the key that was probably meant."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def keys(cls) -> dict[str, FieldInfo]:
        """The fields by the names they have in a scenario."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: object) -> object:
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            raise fault(f"must be a section with keys, not {data!r}")
        known = cls.keys()
        if faults := _unknown(data, known) or _missing(data, known):
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return data


def fault(text: str) -> PydanticCustomError:
    """An error about a value, its text taken as it is."""
    return PydanticCustomError("scenario", "{text}", {"text": text})


def fault_at(key: str, text: str, value: object) -> ValidationError:
    """An error about the value of one key of a section."""
    return faults_at({(key,): text}, value)


def faults_at(texts: Mapping[tuple[str | int, ...], str], value: object) -> ValidationError:
    """Errors about parts of a value, by their places in it."""
    details = [InitErrorDetails(type=fault(text), loc=place, input=value) for place, text in texts.items()]
    return ValidationError.from_exception_data("faults", details)


def _unknown(data: Mapping[Any, Any], known: Mapping[str, FieldInfo]) -> list[InitErrorDetails]:
    kind = next((f" of {data[key]}" for key in ("arrivals", "source") if key in known and key in data), "")
    return [
        InitErrorDetails(
            type=fault(f"no such key{kind}; {did_you_mean(str(key), known)}"), loc=(str(key),), input=value
        )
        for key, value in data.items()
        if key not in known
    ]


def _missing(data: Mapping[Any, Any], known: Mapping[str, FieldInfo]) -> list[InitErrorDetails]:
    return [
        InitErrorDetails(type=fault("missing" + _example(key, field)), loc=(key,), input=None)
        for key, field in known.items()
        if field.is_required() and key not in data
    ]


def _example(key: str, field: FieldInfo) -> str:
    return f"; for example {key}: {field.examples[0]}" if field.examples else ""
