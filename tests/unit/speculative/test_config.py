"""``speculative_config`` from everywhere, and what is wrong with it by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.config import ServerConfig
from reference_server.settings import ConfigError, load_config
from reference_server.speculative import SpeculativeConfigError, speculative_config
from reference_server.speculative.ngram import NgramConfig

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}


def test_file_environment_and_flag_mean_the_same(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    lines = "".join(f"  {key}: {value}\n" for key, value in GOOD.items())
    file.write_text(f"model: tiny-random\nspeculative_config:\n{lines}")
    text = json.dumps(GOOD)
    for config in (
        load_config(file),
        load_config(environ={"TOKENPACE_SERVE_SPECULATIVE_CONFIG": text}, flags={"model": "tiny-random"}),
        load_config(flags={"speculative_config": text, "model": "tiny-random"}),
    ):
        assert config.to_engine_config().speculative_config == GOOD
        assert f"speculative_config={text}" in config.describe()


def test_nothing_is_drafted_by_default() -> None:
    assert ServerConfig(model="tiny-random").to_engine_config().speculative_config is None


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ({}, (5, 5)),
        ({"prompt_lookup_max": 3}, (3, 3)),
        ({"prompt_lookup_min": 2}, (2, 2)),
        ({"prompt_lookup_min": 2, "prompt_lookup_max": 4}, (2, 4)),
    ],
    ids=str,
)
def test_lengths_that_are_left_out(lengths: dict[str, int], expected: tuple[int, int]) -> None:
    config = speculative_config({"method": "ngram", "num_speculative_tokens": 1, **lengths})
    assert isinstance(config, NgramConfig)
    assert config.lengths == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "eagle"}, "method 'eagle' is not built; there are draft_model, ngram, suffix"),
        ({"method": "ngramm"}, "did you mean ngram?"),
        ({"method": 3}, "method 3 is not built"),
        ({"method": None}, "the key method is missing"),
        ({"model": "x"}, "method ngram has no key 'model'"),
        ({"prompt_lookup_mx": 3}, "no key 'prompt_lookup_mx'.*did you mean prompt_lookup_max?"),
        ({"num_speculative_tokens": None}, "the key num_speculative_tokens is missing"),
        (
            {"num_speculative_tokens": 0},
            "num_speculative_tokens is 0; it must be a whole number from 1 to 64",
        ),
        ({"num_speculative_tokens": 65}, "num_speculative_tokens is 65; it must be"),
        ({"num_speculative_tokens": True}, "num_speculative_tokens is True; it must be"),
        ({"adaptive": "yes"}, "adaptive is 'yes'; it must be true or false"),
        ({"prompt_lookup_min": 0}, "prompt_lookup_min is 0; it must be"),
        ({"prompt_lookup_max": "4"}, "prompt_lookup_max is '4'; it must be"),
        ({"prompt_lookup_min": 5}, "prompt_lookup_min is 5, more than prompt_lookup_max, 4"),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_named(change: dict[str, Any], message: str) -> None:
    settings = {key: value for key, value in (GOOD | change).items() if value is not None}
    with pytest.raises(SpeculativeConfigError, match=message):
        speculative_config(settings)
    with pytest.raises(ConfigError, match=rf"--speculative-config is .*{message}"):
        load_config(flags={"speculative_config": json.dumps(settings)})


@pytest.mark.parametrize(
    ("text", "message"), [("{", "it should be a JSON object"), ("[1]", "it should be a valid dictionary")]
)
def test_what_is_no_mapping(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(flags={"speculative_config": text})
