"""What an endpoint hands over to be answered: its own form, and the checked request."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from reference_server.api.collected import CollectedChoice
    from reference_server.api.frames import ChunkShape
    from reference_server.api.logprobs import PlacedLogprob, TokenNames
    from reference_server.api.protocol.generation import GenerationFields
    from reference_server.api.sampling import OutputLimit


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """What distinguishes an endpoint.

    Attributes:
        id_prefix: Of the answer's id.
        object: Of a whole answer.
        chunk: Shape of its stream's chunks.
        render_choice: A whole choice as JSON-ready fields.
        render_logprobs: Log-probabilities in its form.
        has_one_prompt: What is told of it stands in the answer, not in each choice.
    """

    id_prefix: str
    object: str
    chunk: ChunkShape
    render_choice: Callable[[CollectedChoice], dict[str, Any]]
    render_logprobs: Callable[[Sequence[PlacedLogprob], TokenNames], dict[str, Any]]
    has_one_prompt: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A checked request.

    Attributes:
        fields: As sent.
        num_prompts: How many there are.
        prompts: Makes the token ids of each.
        prompt_field: Name of the field that holds the prompt.
        output_limit: How many output tokens it wants.
        logprobs: Alternatives per token; None for no log-probabilities.
        echoed: The prompts to be given back, as text where they came so; None if none are.
        arrival_ns: Monotonic time at which the request came.
    """

    fields: GenerationFields
    num_prompts: int
    prompts: Callable[[], Coroutine[Any, Any, list[list[int]]]]
    prompt_field: str
    output_limit: OutputLimit
    logprobs: int | None
    arrival_ns: int
    echoed: Sequence[str | None] | None = None

    @property
    def prompt_logprobs(self) -> int | None:
        """Alternatives per token of the prompt; None for no log-probabilities of it."""
        asked = [self.fields.prompt_logprobs, None if self.echoed is None else self.logprobs]
        return max((count for count in asked if count is not None), default=None)
