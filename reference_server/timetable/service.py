"""What the server answers: a table of routes over the parts that do the work."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

import msgspec

from reference_server.timetable.capacity import Capacity
from reference_server.timetable.faults import error_body
from reference_server.timetable.freeze import Freezer
from reference_server.timetable.generation import Generator
from reference_server.timetable.generation_request import InvalidBodyError, parse_generation
from reference_server.timetable.http_response import JSON, Headers, whole_response
from reference_server.timetable.metrics import Metrics
from reference_server.timetable.words import count_message_tokens, count_prompt_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.connection import Connection
    from reference_server.timetable.http_request import HttpRequest
    from reference_server.timetable.log import Entry, Log
    from reference_server.timetable.options import Options
    from reference_server.timetable.wheel import TimerWheel
    from reference_server.timetable.words import Vocabulary

VERSION = "timetable"
MAX_MODEL_LEN = 1_000_000


class Call(NamedTuple):
    """A request on its way to its route."""

    http: HttpRequest
    connection: Connection
    arrival_ns: int

    def reply(
        self,
        body: bytes,
        status: HTTPStatus = HTTPStatus.OK,
        content_type: str = JSON,
        headers: Headers = (),
    ) -> None:
        """Answer at once."""
        closes = not self.http.keeps_alive
        self.connection.reply(whole_response(status, content_type, body, headers, closes=closes))


class TimetableService:
    """The server's parts, and the routes to them.

    Args:
        options: How it was started.
        vocabulary: Where the words come from.
        log: Gets every finished request.
        wheel: The clockwork.
        stopping: True once a signal has come.
    """

    def __init__(
        self,
        options: Options,
        vocabulary: Vocabulary,
        log: Log,
        wheel: TimerWheel,
        stopping: Callable[[], bool],
    ) -> None:
        self._options, self._log, self._wheel = options, log, wheel
        self._capacity = Capacity(options.max_num_seqs)
        self._metrics = Metrics(options.served_model_name, self._capacity)
        self._freezer = Freezer(options.freezes, wheel, stopping)
        self._generator = Generator(
            options.script,
            options.seed,
            vocabulary,
            options.served_model_name,
            wheel,
            self._capacity,
            self._finished,
        )
        self._connections: set[Connection] = set()
        self._created = int(time.time())
        self._routes: dict[str, dict[str, Callable[[Call], None]]] = {
            "/v1/chat/completions": {"POST": self._generate},
            "/v1/completions": {"POST": self._generate},
            "/v1/models": {"GET": self._models},
            "/health": {"GET": self._health},
            "/ping": {"GET": self._health, "POST": self._health},
            "/version": {"GET": self._version},
            "/tokenize": {"POST": self._tokenize},
            "/metrics": {"GET": self._show_metrics},
            "/timetable/log": {"GET": self._show_log, "DELETE": self._reset},
            "/timetable/reset": {"POST": self._reset},
        }

    def opened(self, connection: Connection) -> None:
        """Remember it, to end it when the server stops."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Forget it."""
        self._connections.discard(connection)

    def after(self, delay_ns: int, job: Callable[[], None]) -> None:
        """Do something then."""
        self._wheel.add(time.monotonic_ns() + delay_ns, job)

    def handle(self, request: HttpRequest, connection: Connection, arrival_ns: int) -> None:
        """Find the route and follow it."""
        call = Call(request, connection, arrival_ns)
        methods = self._routes.get(request.path)
        if methods is None:
            _refuse(call, HTTPStatus.NOT_FOUND, "NotFoundError", f"There is no {request.path[:100]} here.")
        elif request.method not in methods:
            _refuse(
                call,
                HTTPStatus.METHOD_NOT_ALLOWED,
                "MethodNotAllowedError",
                f"{request.path} takes {' and '.join(methods)}.",
                headers=(("Allow", ", ".join(methods)),),
            )
        else:
            self._follow(methods[request.method], call)

    def stop(self) -> None:
        """End every connection; what was under way is logged as such."""
        for connection in list(self._connections):
            connection.stop("server_stopped")

    def _follow(self, route: Callable[[Call], None], call: Call) -> None:
        try:
            route(call)
        except InvalidBodyError as error:
            _refuse(call, HTTPStatus.BAD_REQUEST, "BadRequestError", str(error), error.param)

    def _generate(self, call: Call) -> None:
        request = parse_generation(call.http.body, chat=call.http.path.endswith("chat/completions"))
        if request.model not in (None, self._options.served_model_name):
            message = f"The model {request.model[:100]!r} does not exist; see /v1/models."
            _refuse(call, HTTPStatus.NOT_FOUND, "NotFoundError", message, "model")
            return
        self._freezer.request_arrived(call.arrival_ns)
        self._generator.start(call.http, request, call.connection, call.arrival_ns)

    def _finished(self, entry: Entry) -> None:
        self._metrics.count(entry)
        self._log.append(entry)

    def _models(self, call: Call) -> None:
        name = self._options.served_model_name
        model = {
            "id": name,
            "object": "model",
            "created": self._created,
            "owned_by": "tokenpace",
            "root": name,
            "parent": None,
            "max_model_len": MAX_MODEL_LEN,
        }
        call.reply(msgspec.json.encode({"object": "list", "data": [model]}))

    def _health(self, call: Call) -> None:
        call.reply(b"")

    def _version(self, call: Call) -> None:
        call.reply(msgspec.json.encode({"version": VERSION}))

    def _tokenize(self, call: Call) -> None:
        body = _object(call.http.body)
        messages = body.get("messages")
        if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
            count = count_message_tokens(messages)
        elif isinstance(body.get("prompt"), str):
            count = count_prompt_tokens(body["prompt"])
        else:
            raise InvalidBodyError("Give a prompt or messages.", "prompt")
        tokens = list(range(count))
        call.reply(msgspec.json.encode({"count": count, "max_model_len": MAX_MODEL_LEN, "tokens": tokens}))

    def _show_metrics(self, call: Call) -> None:
        call.reply(self._metrics.render(), content_type="text/plain; version=0.0.4; charset=utf-8")

    def _show_log(self, call: Call) -> None:
        after = parse_qs(call.http.query).get("after", ["0"])[-1]
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise InvalidBodyError("after must be the number of lines already seen.", "after")
        call.reply(b"".join(self._log.lines(int(after))), content_type="application/x-ndjson")

    def _reset(self, call: Call) -> None:
        self._log.clear()
        self._generator.reset()
        self._freezer.reset()
        call.reply(b"{}")


def _object(body: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(body, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidBodyError(str(error)[:200]) from error


def _refuse(
    call: Call,
    status: HTTPStatus,
    kind: str,
    message: str,
    param: str | None = None,
    headers: Headers = (),
) -> None:
    call.reply(error_body(status, kind, message, param), status, headers=headers)
