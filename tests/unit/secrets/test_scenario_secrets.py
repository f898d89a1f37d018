"""Secrets that stand in a scenario go to the server and nowhere else."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.result_folders import manifest

from harness.result_folder import ResultFolder
from harness.secrets import Secrets, without_secrets
from scenarios.scenario import load_scenario, scenario_from

if TYPE_CHECKING:
    from collections.abc import Callable
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


KEY = 'KEY/a+b&c== "x'
WRITINGS: tuple[Callable[[str], str], ...] = (
    lambda c: c,
    lambda c: f"\\u{ord(c):04x}",
    lambda c: f"\\u{ord(c):04X}",
    lambda c: f"\\\\u{ord(c):04x}",
    lambda c: f"%{ord(c):02x}",
    lambda c: f"%{ord(c):02X}",
    lambda c: f"&#{ord(c)};",
    lambda c: f"&#x{ord(c):X};",
    html.escape,
    lambda c: c if c.isalnum() else f"\\{c}",
)


@given(st.lists(st.sampled_from(WRITINGS), min_size=len(KEY), max_size=len(KEY)))
def test_A9_01_a_key_is_masked_however_each_of_its_characters_is_written(
    writings: list[Callable[[str], str]],
) -> None:
    echo = "".join(write(each) for write, each in zip(writings, KEY, strict=True))
    assert Secrets([KEY]).mask(f"no such key: <{echo}>!") == "no such key: <***>!"


@pytest.mark.parametrize(
    "echo",
    [
        "KEY-S3CRET%2fa%2bb%26c%3d%3d",
        "KEY-S3CRET/a\\u002Bb\\u0026c==",
        "KEY-S3CRET&sol;a&plus;b&AMP;c&equals;=",
    ],
)
def test_A9_01_a_key_in_the_writing_of_a_known_server_is_masked(echo: str) -> None:
    assert Secrets(["KEY-S3CRET/a+b&c=="]).mask(f"https://x/?k={echo}") == "https://x/?k=***"


def test_A9_01_credentials_in_base64_with_their_padding_escaped_are_masked() -> None:
    assert Secrets(["user:pw"]).mask(r"Basic dXNlcjpwdw\u003d\u003d.") == "Basic ***."


def test_a_long_key_is_masked_to_its_end_and_no_text_takes_long() -> None:
    key = "k" * 50 + "+J" * 1_500
    assert Secrets([key]).mask(f"a {quote(key).lower()} b".replace("j", "J")) == "a *** b"
    assert "\\" not in Secrets(["\\" * 40]).mask("\\" * 80)
    begun_s = time.process_time()
    Secrets(["%&\\" * 40]).mask("%25%&amp;\\\\\\" * 5_000)
    assert time.process_time() - begun_s < 5
