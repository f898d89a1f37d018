"""The real model computed on its quantized blocks chooses the tokens that float32 chooses."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from reference_server.engine.config import EngineConfig
from reference_server.engine.loading import load_model
from reference_server.kernels.library import kernel_library
from reference_server.model_store import find
from reference_server.text.load import load_tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.attention import Attend

TEXTS = (
    """Once upon a time, in a village by the river, there lived a fisherman who had never learned to swim.
Every morning he rowed out before the sun came up, and every evening he came back with his nets full.""",
    """The mitochondria is the powerhouse of the cell. It turns the energy of food into a form that the cell
can use, and it carries a small genome of its own, inherited from the mother.""",
    """def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def main():
    for i in range(10):
        print(fibonacci(i))
""",
    """Paris is the capital of France. It lies on the Seine, has about two million inhabitants, and is known
for the Eiffel Tower, the Louvre, and a cuisine that people travel far to taste.""",
)
ROWS_AT_ONCE = 32  # more would be computed densely
AGREEMENT = 0.95

pytestmark = pytest.mark.model


def causal() -> Attend:
    """Plain attention that remembers what it was shown."""
    seen: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if layer in seen:
            key, value = torch.cat([seen[layer][0], key]), torch.cat([seen[layer][1], value])
        seen[layer] = key, value
        num_new, num_all, group = len(query), len(key), query.shape[1] // key.shape[1]
        mask = torch.arange(num_all)[None, :] <= torch.arange(num_all - num_new, num_all)[:, None]
        keys, values = (x.repeat_interleave(group, dim=1).transpose(0, 1) for x in (key, value))
        return scaled_dot_product_attention(query.transpose(0, 1), keys, values, mask).transpose(0, 1)

    return attend


@torch.inference_mode()
def choices(model: Any, text: list[int]) -> Tensor:
    """The best next token after each token of a text."""
    attend, chosen = causal(), []
    for start in range(0, len(text), ROWS_AT_ONCE):
        ids = torch.tensor(text[start : start + ROWS_AT_ONCE])
        positions = torch.arange(start, start + len(ids))
        chosen.append(model.logits(model(ids, positions, attend)).argmax(dim=-1))
    return torch.cat(chosen)


def test_blocks_choose_as_float32_does() -> None:
    if kernel_library().functions is None:
        pytest.skip(kernel_library().note)
    entry = find("smollm2-135m")
    if not entry.is_present:
        pytest.skip("the real model is absent; `tokenpace model pull smollm2-135m` fetches it")
    path = str(entry.path)
    tokenizer = load_tokenizer(path)
    texts = [tokenizer.encode(text) for text in TEXTS]
    exact, blocks = (
        [choices(model, text) for text in texts] for model in (load(path, "float32"), load(path, "bfloat16"))
    )
    same = torch.cat([a == b for a, b in zip(exact, blocks, strict=True)])
    logging.getLogger(__name__).info("%d of %d choices agree", same.sum(), len(same))
    assert same.double().mean() >= AGREEMENT


def load(path: str, dtype: str) -> Any:
    """The model, in a precision, on one thread."""
    return load_model(EngineConfig(model=path, device="cpu", dtype=dtype, cpu_threads=1)).runner._model
