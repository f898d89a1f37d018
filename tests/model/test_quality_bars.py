"""What 8 bits and computing on Q4_1 blocks may cost SmolLM2 in perplexity, on the text that ships."""

from __future__ import annotations

import pytest

from reference_server.engine.config import EngineConfig
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


def _model(path: str, quantization: str, dtype: str) -> ForcedModel:
    return ForcedModel(
        EngineConfig(
            model=path,
            quantization=quantization,
            dtype=dtype,
            device="cpu",
            max_model_len=512,
            max_num_seqs=1,
        )
    )


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
