"""From a request body to an answer under way."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from reference_server.timetable.answer import Answer
from reference_server.timetable.content import Ask, Content
from reference_server.timetable.faults import ERROR_IN_STREAM, INSTEAD
from reference_server.timetable.generation_request import GenerationRequest, InvalidBodyError
from reference_server.timetable.http_response import (
    CHUNKED,
    EVENT_STREAM,
    JSON,
    UNTIL_CLOSE,
    Headers,
    response_head,
    whole_response,
)
from reference_server.timetable.log import Entry
from reference_server.timetable.plan import Plan
from reference_server.timetable.script import Script, ScriptError, make_script
from reference_server.timetable.whole_body import whole_body
from reference_server.timetable.writes import Steps, Writes, can_run, stream_in_runs, stream_writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.capacity import Capacity
    from reference_server.timetable.connection import Connection
    from reference_server.timetable.http_request import HttpRequest
    from reference_server.timetable.wheel import TimerWheel
    from reference_server.timetable.words import Vocabulary


class Generator:
    """Starts answers.

    Args:
        script: What holds unless a request says otherwise.
        seed: Of all chance.
        vocabulary: Where the words come from.
        model_name: Told to clients that name none.
        wheel: Where answers wait for their time.
        capacity: Where they wait for a slot.
        finished: Told of every request that is over.
    """

    def __init__(
        self,
        script: Script,
        seed: int,
        vocabulary: Vocabulary,
        model_name: str,
        wheel: TimerWheel,
        capacity: Capacity,
        finished: Callable[[Entry], None],
    ) -> None:
        self._script, self._seed, self._vocabulary, self._model_name = script, seed, vocabulary, model_name
        self._wheel, self._capacity, self._finished = wheel, capacity, finished
        self._num_started = 0

    def reset(self) -> None:
        """Count requests, and draw chance, from the beginning."""
        self._num_started = 0

    def start(
        self, http: HttpRequest, request: GenerationRequest, connection: Connection, arrival_ns: int
    ) -> None:
        """Begin the answer to a request.

        Raises:
            InvalidBodyError: Its own script makes no sense.
        """
        script = self._script_of(request)
        plan = Plan(script, self._seed, self._num_started, request.token_limit)
        entry = Entry(
            index=self._num_started,
            request_id=http.headers.get("x-request-id"),
            endpoint=http.path,
            stream=bool(request.stream),
            arrival_ns=arrival_ns,
            tokens_per_chunk=script.tokens_per_chunk,
            prompt_tokens=request.num_prompt_tokens,
        )
        self._num_started += 1
        ask = _ask(http, request, script, self._model_name)
        form = _Form(
            http,
            plan,
            Content(ask, script, plan, self._vocabulary, entry.index),
            runs=connection.runner is not None,
        )
        connection.answer = Answer(entry, plan, connection, self._wheel, self._capacity, self._finished)
        connection.answer.begin(form.head(streams=entry.stream), form.writes(streams=entry.stream))

    def _script_of(self, request: GenerationRequest) -> Script:
        try:
            return make_script(request.overrides, self._script) if request.overrides else self._script
        except ScriptError as error:
            raise InvalidBodyError(str(error), "timetable") from error


class _Form(NamedTuple):
    """The form an answer takes: a stream, one piece, or a fault's reply in its place.

    Attributes:
        http: The request.
        plan: What happens to it.
        content: What the answer says.
        runs: The connection carries out runs.
    """

    http: HttpRequest
    plan: Plan
    content: Content
    runs: bool

    def head(self, *, streams: bool) -> bytes:
        """What is sent before the first write; only streams have it apart."""
        if not streams or self.plan.fault in INSTEAD:
            return b""
        coding = CHUNKED if self.http.version else UNTIL_CLOSE
        headers = (*coding.headers, ("Cache-Control", "no-cache"), *self._echo())
        return response_head(HTTPStatus.OK, EVENT_STREAM, headers, closes=self._closes())

    def writes(self, *, streams: bool) -> Callable[[int], Steps]:
        """The writes, given the start of service."""
        if self.plan.fault in INSTEAD:
            return self._canned
        return self._stream if streams else self._whole

    def _stream(self, start_ns: int) -> Steps:
        if not self.http.version:
            return stream_writes(self.content, start_ns, UNTIL_CLOSE)
        if self.runs and can_run(self.content):
            return stream_in_runs(self.content, start_ns)
        return stream_writes(self.content, start_ns, CHUNKED)

    def _canned(self, start_ns: int) -> Writes:
        reply = INSTEAD[str(self.plan.fault)]
        headers = (*reply.headers, *self._echo())
        yield (
            start_ns,
            whole_response(reply.status, reply.content_type, reply.body, headers, closes=self._closes()),
            0,
        )

    def _whole(self, start_ns: int) -> Writes:
        """All tokens at once, when the last of them is due."""
        offsets = zip(self.plan.sizes(), self.plan.offsets_ns(), strict=False)
        last_ns = max((offset for _, offset in offsets), default=self.plan.ttft_ns)
        status, body, num_tokens = HTTPStatus.OK, whole_body(self.content), self.plan.num_sent
        if self.plan.fault == "stream_error":
            status, body, num_tokens = HTTPStatus.INTERNAL_SERVER_ERROR, ERROR_IN_STREAM, 0
        response = whole_response(status, JSON, body, self._echo(), closes=self._closes())
        if self.plan.ends_silently:
            response, num_tokens = response[: len(response) - len(body) // 2], 0
        yield start_ns + last_ns, response, num_tokens

    def _closes(self) -> bool:
        return self.plan.closes or not self.http.keeps_alive or not self.http.version

    def _echo(self) -> Headers:
        request_id = self.http.headers.get("x-request-id")
        return () if request_id is None else (("X-Request-Id", request_id),)


def _ask(http: HttpRequest, request: GenerationRequest, script: Script, model_name: str) -> Ask:
    options = request.stream_options
    return Ask(
        chat=request.messages is not None and http.path.endswith("/chat/completions"),
        model=request.model or model_name,
        num_prompt_tokens=request.num_prompt_tokens,
        usage=script.usage in ("always", "continuous")
        or (script.usage == "asked" and options is not None and options.include_usage),
        running_usage=script.usage == "continuous"
        or (script.usage == "asked" and options is not None and options.continuous_usage_stats),
        token_ids=bool(request.return_token_ids),
    )
