"""``draft_model``: a smaller model with the same vocabulary guesses, token by token, what the model will say.

Right wherever a small model agrees with a large one, which is more often than text repeats; but its guesses
take time, and keys and values of its own. The idea is that of Leviathan, Kalman, Matias (Fast Inference from
Transformers via Speculative Decoding, 2023) and Chen and others (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reference_server.speculative import SpeculativeConfig, SpeculativeConfigError

if TYPE_CHECKING:
    from reference_server.speculative import Preparation, Target

GUESSES = {
    "greedy": "likeliest tokens",
    "seeded": "draws by the request's own random numbers",
    "probabilistic": "draws, with rejection sampling,",
}
"""What is guessed, in words, by ``draft_sample_method``."""


@dataclass(frozen=True, kw_only=True)
class DraftModelConfig(SpeculativeConfig):
    """Keys of the method, named as vLLM names them; ``seeded`` and ``seed`` are our own.

    Attributes:
        model: The checkpoint that guesses, named as the engine's own; its vocabulary must be the target's.
        draft_sample_method: ``greedy`` guesses the likeliest tokens; ``seeded`` those that the draft model
            would answer, by the random numbers that the target will use, which a good draft model shares more
            often where requests sample. With both texts are those without drafts. ``probabilistic`` draws by
            numbers of its own: texts have the target's law, and are other texts.
        quantization: How its linear layers hold weights; left out, its file decides.
        seed: For the weights of ``tiny-random``; left out, the engine's.
    """

    model: str
    draft_sample_method: str = "greedy"
    quantization: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.model, str) or not self.model:
            raise SpeculativeConfigError(f"model is {self.model!r}; it must name the model that drafts")
        if self.draft_sample_method not in GUESSES:
            raise SpeculativeConfigError(
                f"draft_sample_method is {self.draft_sample_method!r}; it must be one of {', '.join(GUESSES)}"
            )
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise SpeculativeConfigError(f"seed is {self.seed!r}; it must be a whole number from 0 on")

    def prepare(self, target: Target) -> Preparation:
        """See :class:`~reference_server.speculative.SpeculativeConfig`."""
        from reference_server.speculative.drafter.loading import prepare  # it needs torch

        return prepare(self, target)

    def describe_guess(self) -> str:
        """See :class:`~reference_server.speculative.SpeculativeConfig`."""
        return f"{GUESSES[self.draft_sample_method]} of {Path(self.model).name}"


CONFIG = DraftModelConfig
