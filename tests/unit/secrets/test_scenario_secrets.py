"""Secrets that stand in a scenario go to the server and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.result_folders import manifest

from harness.result_folder import ResultFolder
from harness.secrets import Secrets, without_secrets
from scenarios.scenario import load_scenario, scenario_from

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3cr3t-canary"
EXTRA = (
    "{api_key: s3cr3t-canary, max_completion_tokens: 5, return_token_ids: true, user: me, "
    "headers: {Authorization: s3cr3t-canary, deep: [{client_secret: [s3cr3t-canary]}]}}"
)


def test_A9_01_texts_under_telling_keys_are_masked_and_nothing_else() -> None:
    scenario = load_scenario(
        "smoke", {"sampling.extra_body": EXTRA, "tags": "{password: s3cr3t-canary, gpu: H200}"}
    )
    shown = without_secrets(scenario.to_mapping())
    assert SECRET not in str(shown)
    body = shown["sampling"]["extra_body"]
    assert (body["max_completion_tokens"], body["return_token_ids"], body["user"]) == (5, True, "me")
    assert body["headers"] == {"Authorization": "***", "deep": [{"client_secret": ["***"]}]}
    assert shown["tags"] == {"password": "***", "gpu": "H200"}
    assert scenario_from(shown).thresholds == scenario.thresholds


def test_secret_goes_to_the_server() -> None:
    schedule = load_scenario("smoke", {"sampling.extra_body.api_key": SECRET}).schedule()
    assert next(schedule.arrivals).sampling["api_key"] == SECRET


def test_scenario_without_secrets_is_written_as_it_is() -> None:
    mapping = load_scenario("chat").to_mapping()
    assert without_secrets(mapping) == mapping


def test_manifest_on_disk_holds_no_secret(tmp_path: Path) -> None:
    scenario = load_scenario("smoke", {"sampling.extra_body.api_key": SECRET})
    secret = manifest(scenario=scenario.to_mapping())
    folder = ResultFolder.create(tmp_path / "run", "smoke")
    folder.save(secret)
    assert SECRET not in folder.manifest_path.read_text(encoding="utf-8")
    assert secret.scenario["sampling"]["extra_body"]["api_key"] == SECRET


@pytest.mark.parametrize(
    "echo", [r"KEY/a+b==", r"KEY\/a+b==", r"KEY/a\u002bb\u003d\u003d", r"KEY\/a\u002bb\u003d\u003d"]
)
def test_A9_01_a_key_escaped_in_json_is_masked(echo: str) -> None:
    assert Secrets(["KEY/a+b=="]).mask(f"no such key: {echo}!") == "no such key: ***!"
