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
    """

    id_prefix: str
    object: str
    chunk: ChunkShape
    render_choice: Callable[[CollectedChoice], dict[str, Any]]
    render_logprobs: Callable[[Sequence[PlacedLogprob], TokenNames], dict[str, Any]]


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
        arrival_ns: Monotonic time at which the request came.
    """

    fields: GenerationFields
    num_prompts: int
    prompts: Callable[[], Coroutine[Any, Any, list[list[int]]]]
    prompt_field: str
    output_limit: OutputLimit
    logprobs: int | None
    arrival_ns: int
