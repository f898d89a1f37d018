"""``tokenpace quality --base-url``, against servers whose every probability is known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.commands.quality import command, over_http

TEXT = "a cab bad dab ace"
TOKENS = list(TEXT.encode())
Law = Callable[..., list[float]]
Start = Callable[..., Any]


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def measure(*arguments: object) -> Result:
    return CliRunner().invoke(over_http, [str(argument) for argument in arguments])


def figures(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    """Of a measurement that must succeed."""
    file = tmp_path / "figures.json"
    found = measure(*arguments, "--json", file)
    assert found.exit_code == 0, found.output
    loaded: dict[str, Any] = json.loads(file.read_text())
    return loaded | {"output": found.output}


def perplexity(law: Law, sharpness: float = 1.0) -> float:
    losses = [-law(last, sharpness)[token] for last, token in pairwise(TOKENS)]
    return math.exp(math.fsum(losses) / len(losses))


@pytest.mark.parametrize("form", ["echo", "entries"])
def test_perplexity_is_exact_in_both_forms(
    tmp_path: Path, text_file: Path, start_bytes: Start, bytes_law: Law, form: str
) -> None:
    server = start_bytes(form)
    found = figures(tmp_path, "--base-url", server.url, "--text", text_file, "--top", 256, "--greedy", 0)
    assert found["num_tokens"] == len(TOKENS) - 1
    assert found["num_unlisted"] == 0
    assert found["perplexity"] == pytest.approx(perplexity(bytes_law), rel=1e-9)
    assert found["reference_perplexity"] is None
    assert f"perplexity                    {found['perplexity']:.4f}" in found["output"]
    assert len(server.asked) == (1 if form == "echo" else len(TOKENS))


def test_windows_are_read_by_themselves(tmp_path: Path, text_file: Path, start_bytes: Start) -> None:
    server = start_bytes("echo")
    found = figures(tmp_path, "--base-url", server.url, "--text", text_file, "--window", 5, "--greedy", 3)
    assert found["num_tokens"] == 4 + 4 + 4 + 1
    prompts = [body["prompt"] for body in server.asked if body.get("echo")]
    assert prompts == [TOKENS[0:5], TOKENS[5:10], TOKENS[10:15], TOKENS[15:17]]
    assert all(body["temperature"] == 0 and body["ignore_eos"] for body in server.asked)


@pytest.mark.parametrize(("form", "top"), [("echo", 1), ("echo", 40), ("echo", 256), ("entries", 256)])
def test_divergence_is_a_lower_bound_that_grows_to_the_truth(
    tmp_path: Path, text_file: Path, start_bytes: Start, bytes_law: Law, form: str, top: int
) -> None:
    """With all tokens listed it is the divergence itself."""
    reference, candidate = start_bytes(form), start_bytes(form, 1.3)
    found = figures(
        tmp_path, "--base-url", candidate.url, "--reference", reference.url, "--text", text_file, "--top", top
    )
    pairs = [(bytes_law(last), bytes_law(last, 1.3)) for last in TOKENS[:-1]]
    true = [math.fsum(math.exp(p) * (p - q) for p, q in zip(*pair, strict=True)) for pair in pairs]
    mean = math.fsum(true) / len(true)
    assert 0 <= found["kl_mean"] <= mean * (1 + 1e-9)
    assert found["kl_p99"] <= max(true) * (1 + 1e-9)
    if top == 256:
        assert found["kl_mean"] == pytest.approx(mean, rel=1e-6)
        assert found["kl_p99"] == pytest.approx(max(true), rel=1e-6)
        assert found["kl_mass"] == pytest.approx(1.0)
    assert found["top1_agreement"] == 1.0
    assert found["first_divergences"] == [None]
    assert "1 of 1 texts the same" in found["output"]


def test_more_tokens_never_show_less_divergence(tmp_path: Path, text_file: Path, start_bytes: Start) -> None:
    reference, candidate = start_bytes("echo"), start_bytes("echo", 1.3)
    bounds = []
    for top in (1, 5, 20, 80):
        arguments = ("--base-url", candidate.url, "--reference", reference.url, "--text", text_file)
        bounds.append(figures(tmp_path, *arguments, "--top", top, "--greedy", 0)["kl_mean"])
    assert bounds == sorted(bounds)


def test_a_text_s_token_that_is_not_listed_makes_perplexity_a_bound(
    tmp_path: Path, text_file: Path, start_bytes: Start, bytes_law: Law
) -> None:
    server = start_bytes("entries")
    found = figures(tmp_path, "--base-url", server.url, "--text", text_file, "--top", 4, "--greedy", 0)
    assert 0 < found["num_unlisted"] < found["num_tokens"]
    assert found["perplexity"] < perplexity(bytes_law)
    assert f"at least {found['perplexity']:.4f}" in found["output"]


def test_what_was_recorded_is_a_reference(
    tmp_path: Path, text_file: Path, start_bytes: Start, bytes_law: Law
) -> None:
    kept = tmp_path / "reference.json"
    shown = ("--text", text_file, "--greedy", 4)
    assert measure("--base-url", start_bytes("echo").url, "--record", kept, *shown).exit_code == 0
    candidate = start_bytes("echo", 1.3).url
    found = figures(tmp_path, "--base-url", candidate, "--reference", kept, *shown)
    expected = perplexity(bytes_law, 1.3) / perplexity(bytes_law)
    assert found["perplexity_ratio"] == pytest.approx(expected, rel=1e-9)
    assert found["ratio_error"] > 0
    assert found["num_greedy"] == 4
    same = figures(
        tmp_path, "--base-url", start_bytes("entries").url, "--reference", kept, *shown, "--top", 256
    )
    assert same["kl_mean"] == pytest.approx(0.0, abs=1e-9)
    assert same["perplexity_ratio"] == pytest.approx(1.0)


def test_texts_that_part_are_told(tmp_path: Path, text_file: Path, start_bytes: Start) -> None:
    """A blank is what follows letters, unless the candidate sticks to what is near."""
    reference, candidate = start_bytes("echo", 0.01), start_bytes("echo", 9.0)
    arguments = ("--base-url", candidate.url, "--reference", reference.url, "--text", text_file)
    found = figures(tmp_path, *arguments, "--greedy", 5)
    assert found["first_divergences"] == [0]
    assert found["top1_agreement"] < 1
    assert "0 of 1 texts the same; the first to differ after 0 tokens" in found["output"]


@pytest.mark.parametrize(
    ("form", "named"),
    [
        ("none", "gives no log-probabilities of a given text"),
        ("plain", "named by their text alone"),
        ("untold", "has no tokenize call"),
    ],
)
def test_a_server_that_can_not_be_measured_is_refused_by_name(
    text_file: Path, start_bytes: Start, form: str, named: str
) -> None:
    found = measure("--base-url", start_bytes(form).url, "--text", text_file)
    assert found.exit_code == 2
    assert named in found.output
    assert "Traceback" not in found.output


def test_other_texts_and_other_files_are_no_reference(
    tmp_path: Path, text_file: Path, start_bytes: Start
) -> None:
    server = start_bytes("echo")
    kept, other = tmp_path / "kept.json", tmp_path / "other.json"
    assert measure("--base-url", server.url, "--text", text_file, "--record", kept).exit_code == 0
    other.write_text("{}")
    for reference, window, named in [
        (kept, 5, "weren't shown the same tokens"),
        (other, 512, "holds no scores"),
        (tmp_path / "none.json", 512, "can't be read"),
    ]:
        found = measure(
            "--base-url", server.url, "--text", text_file, "--reference", reference, "--window", window
        )
        assert (found.exit_code, named in found.output) == (2, True), found.output


def test_an_address_goes_over_http_and_everything_else_to_the_server_s_program(
    text_file: Path, start_bytes: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[tuple[str, ...]] = []
    monkeypatch.setattr("harness.commands.quality.become_server", lambda *arguments: passed.append(arguments))
    found = CliRunner().invoke(command, [f"--base-url={start_bytes('echo').url}", "--text", str(text_file)])
    assert (found.exit_code, passed) == (0, []), found.output
    assert "predicted tokens              16" in found.output
    CliRunner().invoke(command, ["tiny-random", "--dtype", "bfloat16"])
    assert passed == [("quality", "tiny-random", "--dtype", "bfloat16")]


def test_the_text_that_ships_is_the_same_on_both_sides() -> None:
    """Neither side imports the other."""
    texts = [
        Path(side, "quality", "sample_text.txt").read_bytes() for side in ("harness", "reference_server")
    ]
    assert texts[0] == texts[1]
