"""What is asked of the server for each request, beside the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import Field, field_validator, model_validator

from scenarios.json_values import json_fault
from scenarios.lengths import LONGEST, Lengths
from scenarios.ranges import MAX_WHOLE
from scenarios.section import Section, fault
from scenarios.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

_OURS: Final = ("model", "messages", "prompt", "stream", "stream_options")


class Sampling(Section):
    """Body fields under the names that OpenAI and vLLM use; what is not stated is not sent.

    Attributes:
        max_tokens: Output limit, or a distribution of limits. Wins over a limit of the prompt's source.
        min_tokens: No stop before so many tokens (vLLM).
        ignore_eos: Go on to ``max_tokens`` whatever the model says (vLLM).
        extra_body: Anything else that goes into the body, as it is.
    """

    max_tokens: Lengths | None = None
    min_tokens: int | None = Field(None, ge=0, le=LONGEST)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1, le=MAX_WHOLE)
    min_p: float | None = Field(None, ge=0, le=1)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    repetition_penalty: float | None = Field(None, gt=0)
    seed: int | None = Field(None, ge=-MAX_WHOLE, le=MAX_WHOLE)
    stop: Texts | None = None
    ignore_eos: bool | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("stop", mode="after")
    @classmethod
    def _not_empty(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not all(value):
            raise fault("holds an empty text, at which every answer would end; take it out")
        return value

    @model_validator(mode="after")
    def _check(self) -> Sampling:
        for key in self.extra_body:
            if key in _OURS:
                raise fault(f"extra_body: '{key}' is set by tokenpace and can't be given here")
            if key in type(self).model_fields:
                raise fault(f"extra_body: '{key}' is a key of sampling; write it there")
        if unsendable := json_fault(self.extra_body):
            raise fault(f"extra_body.{unsendable}")
        longest = self.max_tokens.constant if self.max_tokens else None
        if longest is not None and (self.min_tokens or 0) > longest:
            raise fault(f"min_tokens {self.min_tokens} is more than max_tokens {longest}")
        return self

    @property
    def stated(self) -> frozenset[str]:
        """The body fields that it sets."""
        ours = {name for name in type(self).model_fields if getattr(self, name) is not None} - {"extra_body"}
        return frozenset(ours | self.extra_body.keys())

    def bodies(self, rng: Generator) -> Iterator[dict[str, Any]]:
        """The body fields of one request after the other, endlessly."""
        fixed = {
            name: list(value) if isinstance(value, tuple) else value
            for name in type(self).model_fields
            if name not in ("max_tokens", "extra_body") and (value := getattr(self, name)) is not None
        }
        while True:
            limit = {"max_tokens": self.max_tokens.draw(rng)} if self.max_tokens else {}
            yield {**limit, **fixed, **self.extra_body}
