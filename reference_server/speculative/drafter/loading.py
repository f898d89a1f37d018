"""From the name of a draft model to a proposer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from reference_server.attention import attention_backend
from reference_server.engine.block_manager import BlockManager
from reference_server.engine.device import resolve_attention_backend
from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.kv_size import kv_layout
from reference_server.engine.make_runner import make_runner
from reference_server.engine.sampler import Sampler
from reference_server.models.build import build_model
from reference_server.models.loaders import load_checkpoint
from reference_server.models.weight_bytes import weight_bytes
from reference_server.quantization import quantization_scheme
from reference_server.speculative import Preparation, Proposer
from reference_server.speculative.drafter.drawing_proposer import DrawingDraftModelProposer
from reference_server.speculative.drafter.proposer import DraftModelProposer
from reference_server.speculative.drafter.vocabulary import check_vocabulary

if TYPE_CHECKING:
    from reference_server.attention import KVLayout
    from reference_server.models.checkpoint import Checkpoint
    from reference_server.speculative import Target
    from reference_server.speculative.draft_model import DraftModelConfig

_MIB = 1 << 20


@dataclass(frozen=True)
class Drafter:
    """A draft model that is loaded.

    Attributes:
        config: What was asked for.
        target: For whom.
        checkpoint: Its own.
        model: Ready to run.
    """

    config: DraftModelConfig
    target: Target
    checkpoint: Checkpoint
    model: Any

    @property
    def max_model_len(self) -> int:
        """Tokens of a sequence that it can see."""
        return min(self.target.max_model_len, self.checkpoint.config.max_model_len)

    def layout(self, num_blocks: int) -> KVLayout:
        """Of its KV pool, whose blocks hold as many tokens as the target's."""
        return kv_layout(
            self.checkpoint.config,
            block_size=self.target.block_size,
            num_blocks=num_blocks,
            dtype=getattr(torch, self.target.dtype),
            device=torch.device(self.target.device),
        )

    def make_proposer(self, num_blocks: int) -> Proposer:
        """Allocate the pool and make the rest."""
        config, device = self.target.config, torch.device(self.target.device)
        attention = attention_backend(resolve_attention_backend(config, device))(self.layout(num_blocks))
        block_size = self.target.block_size
        sampler = DeviceSampler if device.type == "cuda" else Sampler
        method = self.config.draft_sample_method
        proposer = DrawingDraftModelProposer if method == "probabilistic" else DraftModelProposer
        return proposer(
            make_runner(
                config, self.model, attention, device, max_len=self.max_model_len, block_size=block_size
            ),
            sampler(self.target.eos_token_ids),
            BlockManager(num_blocks, block_size, enable_prefix_caching=config.enable_prefix_caching),
            max_model_len=self.max_model_len,
            max_batched_tokens=config.max_num_batched_tokens,
            greedy=method == "greedy",
        )

    def describe_memory(self, num_blocks: int) -> str:
        """For the log."""
        weights, pool = weight_bytes(self.model), num_blocks * self.layout(1).block_bytes
        words = (
            f"the draft model {Path(self.config.model).name} takes {weights / _MIB:.1f} MiB of weights and "
            f"{pool / _MIB:.1f} MiB of KV pool, {num_blocks * self.target.block_size} tokens"
        )
        if self.max_model_len < self.target.max_model_len:
            words += f"; it sees {self.max_model_len} tokens, and drafts nothing beyond"
        return words


def prepare(config: DraftModelConfig, target: Target) -> Preparation:
    """Load the draft model on the target's device, in its dtype.

    Raises:
        SpeculativeConfigError: Its vocabulary is another.
        ModelError: It can't be loaded.
        UnsupportedQuantizationError: Its quantization is not built.
    """
    seed = target.config.seed if config.seed is None else config.seed
    checkpoint = load_checkpoint(config.model, seed)
    check_vocabulary(config.model, checkpoint.config.vocab_size, target)
    scheme = quantization_scheme(config.quantization or checkpoint.quantization)
    scheme.check(checkpoint)
    model = build_model(
        checkpoint,
        scheme,
        dtype=getattr(torch, target.dtype),
        device=torch.device(target.device),
        max_len=min(target.max_model_len, checkpoint.config.max_model_len),
    )
    drafter = Drafter(config, target, checkpoint, model)
    return Preparation(
        make_proposer=drafter.make_proposer,
        block_bytes=drafter.layout(1).block_bytes,
        describe_memory=drafter.describe_memory,
    )
