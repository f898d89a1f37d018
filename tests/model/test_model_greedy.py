"""The real model, token for token: our greedy answers against ``transformers`` on the same GGUF in float32.

One forward pass of the reference over prompt and answer tells its own choice at every position, given the
same tokens before. Where its two best logits are closer than ``NEAR_TIE``, rounding decides: such positions
are reported and not counted.
"""

from __future__ import annotations

import logging
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine, load_engine
from reference_server.engine.request import EngineRequest, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
NUM_TOKENS = 64
NEAR_TIE = 0.001
BLOCK_SIZE = 16

PROMPTS = (
    "Explain KV cache in 2 sentences.",
    "Write a haiku about the sea.",
    "What is the capital of France, and what is it known for?",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a village by the river,",
    "Übersetze ins Englische: Der frühe Vogel fängt den Wurm.",
    "¿Cuál es la diferencia entre un alud y una avalancha?",
    "Écris une phrase sur l'été à Marseille.",
    "日本の首都はどこですか。",
    "请用一句话介绍长城。",
    "Напиши короткое письмо другу.",
    "اكتب جملة عن البحر.",
    "नमस्ते, आप कैसे हैं?",
    "서울의 날씨는 어때요?",
    "Answer with emoji only: 🌊🐚 + ☀️ = ?",
    "SELECT name, COUNT(*) FROM users GROUP BY",
    "List the numbers from 1 to 30, separated by commas: 1, 2, 3,",
    "1 + 1 = 2\n2 + 2 = 4\n3 + 3 =",
    "The mitochondria is",
    "Dear Sir or Madam,\n\nI am writing to complain about the late delivery of my order. " * 4,
)

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore"),  # transformers warns of its own future at import
]


def checkpoint_path() -> Path:
    """Where the model command keeps the checkpoint."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = os.environ.get("TOKENPACE_MODEL_DIR") or cache / "tokenpace/models/smollm2-135m"
    return Path(folder) / FILE_NAME


@pytest.fixture(scope="module")
def path() -> Path:
    path = checkpoint_path()
    if not path.is_file():
        pytest.skip(f"{path} is absent; `tokenpace model pull smollm2-135m` fetches it")
    return path


class Reference:
    """``transformers`` with the same file, asked once per prompt and answer."""

    def __init__(self, path: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        self._model = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32
        )
        self._answers: dict[tuple[int, ...], list[tuple[int, float]]] = {}

    def choices(self, prompt: list[int], answer: list[int]) -> list[tuple[int, float]]:
        """The best token and its lead over the second, at each position of the answer."""
        key = (*prompt, *answer)
        if key not in self._answers:
            with torch.inference_mode():
                logits: torch.Tensor = self._model(torch.tensor([key[:-1]])).logits[0, len(prompt) - 1 :]
            best = logits.topk(2)
            leads = best.values[:, 0] - best.values[:, 1]
            self._answers[key] = list(zip(best.indices[:, 0].tolist(), leads.tolist(), strict=True))
        return self._answers[key]


@pytest.fixture(scope="module")
def reference(path: Path) -> Iterator[Reference]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings(action="ignore"):
        yield Reference(path)
    torch.set_num_threads(threads)


def encode(reference: Reference) -> list[list[int]]:
    """Half of the prompts as chat turns, half as plain text."""
    chat = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    texts = [chat.format(p) if index % 2 == 0 else p for index, p in enumerate(PROMPTS)]
    return [reference.tokenizer(text).input_ids for text in texts]


def answer_all(engine: Engine, prompts: list[list[int]], *, at_once: int) -> list[list[int]]:
    """Greedy answers of ``NUM_TOKENS`` tokens; the next prompt comes when fewer than ``at_once`` live."""
    sampling = SamplingParams(max_tokens=NUM_TOKENS, seed=0, temperature=0.0, ignore_eos=True)
    answers: list[list[int]] = [[] for _ in prompts]
    pending = list(range(len(prompts)))
    num_live = 0
    while pending or engine.has_work:
        while pending and num_live < at_once:
            index = pending.pop(0)
            request = EngineRequest(request_id=str(index), prompt_token_ids=prompts[index], sampling=sampling)
            engine.add(request)
            num_live += 1
        for output in engine.step():
            answers[int(output.request_id)] += output.token_ids
            num_live -= output.finish_reason is not None
        engine.check_invariants()
    return answers


def check(reference: Reference, prompts: list[list[int]], answers: list[list[int]], name: str) -> None:
    """Compare every position; log near ties."""
    wrong, ties = [], 0
    for index, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        assert len(answer) == NUM_TOKENS
        for place, (token, (expected, lead)) in enumerate(
            zip(answer, reference.choices(prompt, answer), strict=True)
        ):
            if lead <= NEAR_TIE:
                ties += 1
            elif token != expected:
                wrong.append(f"prompt {index} token {place}: {token}, not {expected} (lead {lead:.4f})")
    compared = len(prompts) * NUM_TOKENS - ties
    logging.getLogger(__name__).info("%s: %d positions compared, %d near ties left out", name, compared, ties)
    assert not wrong, "\n".join(wrong[:10])


CASES: dict[str, dict[str, Any]] = {
    "one at a time": {"max_num_seqs": 1},
    "batches of 8": {"max_num_seqs": 8},
    "chunked prefill": {"max_num_seqs": 8, "max_num_batched_tokens": 24},
    "preempted": {"max_num_seqs": 8, "num_gpu_blocks_override": 36},
    "chunked and preempted": {"max_num_seqs": 8, "max_num_batched_tokens": 24, "num_gpu_blocks_override": 36},
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("chunked and preempted", 2),
        ("one at a time", 10),
        *(pytest.param(name, 1, marks=pytest.mark.soak) for name in CASES),
    ],
)
def test_greedy_tokens_equal_those_of_transformers(
    name: str, step: int, path: Path, reference: Reference
) -> None:
    """Of some prompts in the cases that differ most, of all in all of them when there is time."""
    compare(name, path, reference, encode(reference)[::step], CASES[name])


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["one at a time", "chunked and preempted"])
@pytest.mark.parametrize("num_drafted", [1, 3, 8])
@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_C8_01_they_do_with_drafts(
    method: str, num_drafted: int, name: str, path: Path, reference: Reference
) -> None:
    """Every guess is verified, after two tokens that repeat or one."""
    speculation: dict[str, Any] = {"method": method, "num_speculative_tokens": num_drafted, "adaptive": False}
    if method == "ngram":
        speculation |= {"prompt_lookup_min": 1, "prompt_lookup_max": 2}
    compare(name, path, reference, encode(reference), CASES[name] | {"speculative_config": speculation})


def compare(
    name: str, path: Path, reference: Reference, prompts: list[list[int]], settings: dict[str, Any]
) -> None:
    """Answer the prompts in one of the ways and hold the answers against the reference."""
    config = EngineConfig(
        model=str(path), dtype="float32", device="cpu", block_size=BLOCK_SIZE, cpu_threads=1, **settings
    )
    engine = load_engine(config)

    answers = answer_all(engine, prompts, at_once=settings["max_num_seqs"])

    assert (engine.stats.num_preemptions > 0) == ("preempted" in name)
    assert engine.stats.num_free_blocks == engine.stats.num_blocks
    check(reference, prompts, answers, name)
