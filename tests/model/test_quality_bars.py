"""What 8 bits and computing on Q4_1 blocks may cost SmolLM2 in perplexity, on the text that ships."""

from __future__ import annotations

import math

import msgspec
import pytest
from support.engine_run import run_to_end

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.model_store.errors import ModelStoreError
from reference_server.model_store.lookup import resolve
from reference_server.quality.forced_model import ForcedModel
from reference_server.quality.measurement import measure
from reference_server.quality.text import sample_text, windows
from reference_server.text.load import load_tokenizer

pytestmark = [pytest.mark.model, pytest.mark.soak]


@pytest.fixture(scope="module")
def path() -> str:
    try:
        return str(resolve("smollm2-135m"))
    except ModelStoreError as error:
        pytest.skip(str(error))


def _config(path: str, quantization: str, dtype: str) -> EngineConfig:
    return EngineConfig(
        model=path, quantization=quantization, dtype=dtype, device="cpu", max_model_len=512, max_num_seqs=1
    )


def _model(path: str, quantization: str, dtype: str) -> ForcedModel:
    return ForcedModel(_config(path, quantization, dtype))


@pytest.fixture(scope="module")
def reference(path: str) -> ForcedModel:
    return _model(path, "none", "float32")


@pytest.mark.parametrize(("quantization", "max_loss"), [("int8", 0.005), ("gguf", 0.001)])
def test_perplexity_stays_near_that_of_the_dequantized_file(
    path: str, reference: ForcedModel, quantization: str, max_loss: float
) -> None:
    texts = windows(load_tokenizer(path).encode(sample_text()), 512)
    found = measure(reference, _model(path, quantization, "bfloat16"), texts)
    assert abs(found.perplexity_ratio - 1) <= max_loss
    assert found.kl_mean < 0.01
    assert found.top1_agreement > 0.94


@pytest.mark.parametrize("quantization", ["int8", "gguf"])
def test_the_engine_scores_a_prompt_as_the_forced_model_does(path: str, quantization: str) -> None:
    """In chunks of 100 tokens, on quantized layers, whose digits change a little with the rows of a step."""
    config = _config(path, quantization, "bfloat16")
    text = windows(load_tokenizer(path).encode(sample_text()), 300)[0]
    logits = ForcedModel(config).logits(text, 0).log_softmax(dim=-1)
    plain = [logits[place, token].item() for place, token in enumerate(text[1:])]
    request = EngineRequest(
        request_id="a",
        prompt_token_ids=text,
        sampling=SamplingParams(max_tokens=0, seed=0, prompt_logprobs=1),
    )
    engine = load_engine(msgspec.structs.replace(config, max_num_batched_tokens=100))
    (output,) = run_to_end(engine, request)["a"]
    found = [each.logprob for each in output.prompt_logprobs or ()]
    assert len(found) == len(plain)
    assert math.fsum(found) / len(found) == pytest.approx(math.fsum(plain) / len(plain), abs=0.01)
    assert max(abs(one - other) for one, other in zip(found, plain, strict=True)) < 0.6
