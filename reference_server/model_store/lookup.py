"""From what a user calls a model to its file."""

from __future__ import annotations

from pathlib import Path

from reference_server.model_store.catalogue import CATALOGUE, TINY_RANDOM, StoredModel
from reference_server.model_store.errors import ModelAbsentError, UnknownModelError
from reference_server.suggest import suggestion


def find(name: str) -> StoredModel:
    """The entry of a name in the catalogue.

    Raises:
        UnknownModelError: There is none.
    """
    if name not in CATALOGUE:
        raise UnknownModelError(
            f"there is no model {name!r}; the store knows {', '.join(CATALOGUE)}{suggestion(name, CATALOGUE)}"
        )
    return CATALOGUE[name]


def resolve(model: str) -> Path:
    """The file or folder of a model that lies on disk.

    Args:
        model: A name in the catalogue, else a path.

    Raises:
        ModelAbsentError: The name is known, but the model has not been fetched.
        UnknownModelError: Neither.
    """
    if model in CATALOGUE:
        return _path_in_store(CATALOGUE[model])
    path = Path(model).expanduser()
    if path.exists():
        return path.resolve()
    if _looks_like_path(model):
        raise UnknownModelError(
            f"there is no file or folder {model!r}; give the path of a .gguf file or of a Hugging Face "
            f"folder that is already here, or one of the names {_names()}"
        )
    raise UnknownModelError(
        f"there is no model {model!r}; give one of the names {_names()}, or the path of a .gguf file or of a "
        f"Hugging Face folder{suggestion(model, [*CATALOGUE, TINY_RANDOM])}"
    )


def _path_in_store(entry: StoredModel) -> Path:
    if not entry.is_present:
        raise ModelAbsentError(
            f"the model {entry.name} is not here yet; fetch it with: tokenpace model pull {entry.name}"
        )
    return entry.path


def _looks_like_path(model: str) -> bool:
    return "/" in model or model.endswith(".gguf")


def _names() -> str:
    return ", ".join([*CATALOGUE, TINY_RANDOM])
