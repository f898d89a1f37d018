"""The runner that fits an attention backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from reference_server.attention import AttentionBackend, GraphableBackend
from reference_server.engine.graph_runner import GraphRunner
from reference_server.engine.runner import ModelRunner

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from reference_server.engine.batch import Batch
    from reference_server.engine.config import EngineConfig


class Runner(Protocol):
    """What an engine asks of a runner."""

    def run(self, batch: Batch) -> Tensor:
        """Compute the batch; logits ``[R, vocab_size]`` float32 of the rows that sample.

        They may be overwritten by the next call. Sequences get the scores of their prompts' pieces.
        """


def make_runner(
    config: EngineConfig,
    model: Any,  # noqa: ANN401  # see reference_server.models
    attention: AttentionBackend,
    device: torch.device,
    *,
    max_len: int,
    block_size: int,
) -> Runner:
    """One that records graphs where the backend allows it on a CUDA device, else one that runs eagerly.

    Args:
        config: Limits.
        model: Ready to run.
        attention: With its pool.
        device: Of both.
        max_len: Tokens of a sequence at most.
        block_size: Tokens a block holds.
    """
    if not isinstance(attention, GraphableBackend):
        return ModelRunner(model, attention, device)
    return GraphRunner(
        model,
        attention,
        device,
        max_num_seqs=config.max_num_seqs,
        max_blocks=-(-max_len // block_size),
        enforce_eager=config.enforce_eager or device.type != "cuda",
    )
