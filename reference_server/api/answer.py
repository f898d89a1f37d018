"""The way of a generation request from its checked fields to the reply: the same for chat and text."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from reference_server.api.choice import Choice
from reference_server.api.collected import CollectedChoice
from reference_server.api.disconnect import run_while_connected
from reference_server.api.echo import Echo, echo_of
from reference_server.api.errors import ApiError
from reference_server.api.event_stream import EventStream
from reference_server.api.frames import DONE, Frames, encode, error_frame
from reference_server.api.generation import Generation
from reference_server.api.logprobs import PlacedLogprob, TokenNames, prompt_logprobs
from reference_server.api.prompts import check_prompt, truncate
from reference_server.api.protocol.generation import StreamOptions
from reference_server.api.request_ids import answer_id, engine_id
from reference_server.api.sampling import make_sampling, resolve_max_tokens
from reference_server.engine.request import EngineRequest
from reference_server.text.detokenizer import IncrementalDetokenizer
from reference_server.text.stop_strings import StopStrings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from reference_server.api.context import Context
    from reference_server.api.job import Endpoint, Job


class Answer:
    """One reply in the making."""

    def __init__(self, endpoint: Endpoint, context: Context, request: Request, job: Job) -> None:
        self._endpoint = endpoint
        self._context = context
        self._request = request
        self._job = job
        fields = job.fields
        model = context.require_model(fields.model)
        context.check_priority(fields.priority)
        request_id = request.headers.get("x-request-id")
        self._head = {
            "id": answer_id(endpoint.id_prefix, request_id, fields.request_id),
            "created": int(time.time()),
            "model": model,
        }
        self._headers = {"x-request-id": str(self._head["id"]).removeprefix(f"{endpoint.id_prefix}-")}
        self._names = TokenNames(
            context.tokenizer.token_text, context.tokenizer.token_bytes, fields.return_tokens_as_token_ids
        )

    async def respond(self) -> Response:
        """Admit, prepare, generate, and reply at once or as a stream."""
        with contextlib.ExitStack() as held:
            num_sequences = self._job.num_prompts * self._job.fields.n
            held.enter_context(self._context.admission.enter(num_sequences))
            receive = self._request.receive
            generation = await run_while_connected(receive, self._prepare())
            if self._job.fields.stream:
                return EventStream(self._frames(generation), self._headers, held.pop_all())
            return await run_while_connected(receive, self._whole(generation))

    async def _prepare(self) -> Generation:
        fields = self._job.fields
        choices: list[Choice] = []
        for number, token_ids in enumerate(await self._job.prompts()):
            check_prompt(self._context, token_ids, self._job.prompt_field)
            prompt = truncate(self._context, token_ids, fields)
            echo = self._echo(number, prompt, is_whole=len(prompt) == len(token_ids))
            choices += [self._choice(prompt, len(choices) + i, i, echo) for i in range(fields.n)]
        with self._context.metrics.harmless as metrics:
            metrics.on_request(fields.n, choices[0].request.sampling.max_tokens)
        return Generation(self._context.client, self._context.metrics, choices, fields.n)

    def _echo(self, number: int, prompt: list[int], *, is_whole: bool) -> Echo | None:
        """What is shown of the prompt of that number; of one that was cut, the text of what is left."""
        if self._job.echoed is None:
            return None
        return echo_of(self._context.tokenizer, prompt, self._job.echoed[number] if is_whole else None)

    def _choice(self, prompt: list[int], index: int, number: int, echo: Echo | None) -> Choice:
        fields, context = self._job.fields, self._context
        max_tokens = resolve_max_tokens(self._job.output_limit, len(prompt), context.info.max_model_len)
        sampling = make_sampling(
            fields,
            context.info,
            max_tokens=max_tokens,
            logprobs=self._job.logprobs,
            prompt_logprobs=self._job.prompt_logprobs,
            choice_index=number,
        )
        engine_request = EngineRequest(
            request_id=engine_id(),
            prompt_token_ids=prompt,
            sampling=sampling,
            priority=fields.priority,
            cache_salt=fields.cache_salt,
            arrival_ns=self._job.arrival_ns,
        )
        return Choice(
            index,
            engine_request,
            IncrementalDetokenizer(context.tokenizer, fields.skip_special_tokens, prompt),
            StopStrings(fields.stop_strings, include=fields.include_stop_str_in_output)
            if fields.stop_strings
            else None,
            keep_stop_token=fields.include_stop_str_in_output,
            show_every_token=fields.return_token_ids,
            echo=echo,
        )

    async def _whole(self, generation: Generation) -> Response:
        collected = [CollectedChoice(index) for index in range(len(generation.choices))]
        async with contextlib.aclosing(generation.deltas()) as deltas:
            async for delta in deltas:
                if delta is not None:
                    collected[delta.index].add(delta)
        content = {
            "id": self._head["id"],
            "object": self._endpoint.object,
            **self._head,
            "choices": [self._render(*pair) for pair in zip(collected, generation.choices, strict=True)],
            "usage": generation.usage,
            "system_fingerprint": self._context.fingerprint,
            "metrics": generation.metrics,
        }
        if self._endpoint.has_one_prompt:
            content["prompt_logprobs"] = self._render_prompt(generation.choices[0])
        return Response(encode(content), headers=self._headers, media_type="application/json")

    def _render(self, choice: CollectedChoice, source: Choice) -> dict[str, Any]:
        has_logprobs = self._job.logprobs is not None
        fields = {
            "index": choice.index,
            **self._endpoint.render_choice(choice),
            "logprobs": self._render_logprobs(choice.logprobs) if has_logprobs else None,
            "finish_reason": choice.finish_reason,
            "stop_reason": choice.stop_reason,
        }
        if not self._endpoint.has_one_prompt:
            fields["prompt_logprobs"] = self._render_prompt(source)
        if self._job.fields.return_token_ids:
            fields["token_ids"] = choice.token_ids
        return fields

    def _render_prompt(self, choice: Choice) -> list[dict[str, Any] | None] | None:
        """The log-probabilities of a choice's prompt, where they are known."""
        return (
            None if choice.prompt_logprobs is None else prompt_logprobs(choice.prompt_logprobs, self._names)
        )

    def _render_logprobs(self, entries: Sequence[PlacedLogprob]) -> dict[str, Any]:
        return self._endpoint.render_logprobs(entries, self._names)

    async def _frames(self, generation: Generation) -> AsyncGenerator[bytes]:
        options = self._job.fields.stream_options or StreamOptions()
        frames = Frames(
            self._endpoint.chunk,
            self._head,
            self._context.fingerprint,
            len(generation.choices),
            self._render_logprobs if self._job.logprobs is not None else None,
            with_token_ids=self._job.fields.return_token_ids,
        )
        with_usage = options.continuous_usage_stats
        try:
            async with contextlib.aclosing(generation.deltas()) as deltas:
                async for delta in deltas:
                    usage = generation.usage if with_usage else None
                    if delta is not None:
                        yield frames.delta(delta, usage)
                    elif opening := frames.opening(usage):
                        yield opening
            if options.include_usage:
                yield frames.closing(generation.usage, generation.metrics)
        except ApiError as error:
            yield error_frame(error.body())
        yield DONE
