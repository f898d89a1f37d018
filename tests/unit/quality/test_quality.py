"""The measurement on a tiny model, and the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch
from click.testing import CliRunner

from reference_server.commands.quality import quality
from reference_server.engine.config import EngineConfig
from reference_server.quality.errors import QualityError
from reference_server.quality.forced_model import ForcedModel
from reference_server.quality.measurement import measure, measure_greedy
from reference_server.quality.text import read_text, sample_text, windows

if TYPE_CHECKING:
    from pathlib import Path

TEXT = list(range(2, 102))


def _model(dtype: str = "float32", seed: int = 0, max_model_len: int = 256) -> ForcedModel:
    return ForcedModel(
        EngineConfig(
            model="tiny-random", device="cpu", dtype=dtype, seed=seed, max_model_len=max_model_len,
            max_num_seqs=1, cpu_threads=1,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def model() -> ForcedModel:
    return _model()


def test_logits_of_a_text_in_parts_are_those_of_the_whole(model: ForcedModel) -> None:
    whole = model.logits(TEXT, 0)
    parts = [model.logits(TEXT[:end], begin) for begin, end in ((0, 40), (40, 41), (41, 100))]
    assert whole.shape == (100, 512)
    torch.testing.assert_close(torch.cat(parts), whole, rtol=1e-4, atol=1e-4)


def test_a_model_beside_itself_has_lost_nothing(model: ForcedModel) -> None:
    found = measure(model, _model(), [TEXT, TEXT[:33], TEXT[:2]])
    assert found.num_tokens == 99 + 32 + 1
    assert found.perplexity == pytest.approx(found.reference_perplexity, rel=1e-9)
    assert found.kl_p99 == pytest.approx(0.0, abs=1e-9)
    assert found.top1_agreement == 1.0


def test_perplexity_is_that_of_the_whole_text_at_once(model: ForcedModel) -> None:
    found = measure(model, _model(), [TEXT])
    loss = torch.nn.functional.cross_entropy(model.logits(TEXT, 0)[:-1].double(), torch.tensor(TEXT[1:]))
    assert found.perplexity == pytest.approx(float(loss.exp()), rel=1e-5)


def test_less_precision_shows_and_other_weights_show_more(model: ForcedModel) -> None:
    rounded, other = (measure(model, candidate, [TEXT]) for candidate in (_model("bfloat16"), _model(seed=1)))
    assert 0 < rounded.kl_mean < 0.01 < other.kl_mean
    assert other.top1_agreement < rounded.top1_agreement


def test_greedy_text_parts_where_the_models_do(model: ForcedModel) -> None:
    same = measure_greedy(model, _model(), [TEXT, TEXT[50:]], 20)
    other = measure_greedy(model, _model(seed=1), [TEXT], 20)
    assert same.first == [None, None]
    assert other.first[0] is not None


def test_greedy_takes_the_likeliest_token_after_any_length_of_prompt(model: ForcedModel) -> None:
    text = model.greedy(TEXT, 3)
    expected = model.logits(TEXT + text, 0)[99:102].argmax(dim=-1).tolist()
    assert text == expected


def test_a_text_longer_than_the_model_reads_is_refused(model: ForcedModel) -> None:
    with pytest.raises(QualityError, match="smaller window"):
        measure(model, _model(max_model_len=64), [TEXT])


def test_windows_hold_all_tokens_but_a_last_one_alone() -> None:
    assert windows([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4]]
    assert windows([1, 2, 3], 8) == [[1, 2, 3]]
    with pytest.raises(QualityError, match="two tokens"):
        windows([1], 2)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(QualityError, match="byte 3"):
        read_text(tmp_path / "latin")
    with pytest.raises(QualityError, match="can't be read"):
        read_text(tmp_path / "absent")
    assert read_text(None) == sample_text()
    assert len(sample_text()) > 3000


def test_the_command_shows_and_writes_the_figures(tmp_path: Path) -> None:
    text, figures = tmp_path / "text", tmp_path / "figures.json"
    text.write_text("a small text " * 10)
    found = CliRunner().invoke(
        quality, ["tiny-random", "--text", str(text), "--greedy", "8", "--json", str(figures)]
    )
    assert found.exit_code == 0, found.output
    assert "perplexity of the candidate" in found.output
    assert "of 1 texts the same" in found.output
    assert json.loads(figures.read_text())["num_tokens"] >= 129


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--base-url", "http://127.0.0.1:1"], "over HTTP by tokenpace quality"),
        (["--quantization", "int9"], "int9"),
        (["--text", "/no/such/text"], "/no/such/text"),
        (["--window", "1000000"], "max_model_len"),
    ],
)
def test_what_can_not_be_measured_is_refused_by_name(arguments: list[str], named: str) -> None:
    found = CliRunner().invoke(quality, ["tiny-random", *arguments])
    assert found.exit_code == 2
    assert named in found.output
