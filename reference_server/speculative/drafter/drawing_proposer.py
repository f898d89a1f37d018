"""Drafts that are drawn from the law of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_server.engine.law import draw
from reference_server.engine.randomness import Stream, uniform
from reference_server.engine.rejection import DrawingProposer
from reference_server.speculative.drafter.proposer import DraftModelProposer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from reference_server.engine.sequence import Sequence
    from reference_server.speculative.drafter.follower import Follower


class DrawingDraftModelProposer(DraftModelProposer, DrawingProposer):
    """Draws tokens of a draft as the request asks for its own: temperature, top-k, top-p, all edits."""

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        self._drawn: dict[str, list[Tensor]] = {}
        return super().propose(limits)

    def laws(self, sequence: Sequence) -> Tensor:
        """See :class:`~reference_server.engine.rejection.DrawingProposer`."""
        return torch.stack(self._drawn[sequence.request_id])

    def _choose(self, logits: Tensor, followers: list[Follower]) -> list[int]:
        laws = self._sampler.laws(logits, followers)
        numbers = [uniform(f.sampling.seed, f.num_tokens, Stream.DRAFT) for f in followers]
        for follower, law in zip(followers, laws, strict=True):
            self._drawn.setdefault(follower.request_id, []).append(law)
        return draw(laws, numbers)
