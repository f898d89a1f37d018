"""Exactly one outcome for whatever comes back."""

from __future__ import annotations

import base64
import json
import struct
import time
from typing import Any

import pytest

from harness.record import Outcome
from harness.timeline import End
from tests.wire.conftest import DONE, ROLE, STOP, RecordOf, event, text, usage

JSON = "application/json"


def test_A4_01_error_event_after_200(record_of: RecordOf) -> None:
    failure = event({"error": {"message": "CUDA out of memory", "type": "InternalServerError", "code": 500}})
    record = record_of([*((10 * i, text("x")) for i in range(12)), (130, failure + DONE)])
    assert record.outcome is Outcome.STREAM_ERROR
    assert "CUDA out of memory" in record.message
    assert len(record.chunk_ns) == 12


@pytest.mark.parametrize(
    "wire",
    [
        b'event: error\ndata: {"message": "overloaded"}\n\n',
        b"event: error\ndata: overloaded\n\n",
        event({"error": "overloaded", "error_type": "overloaded"}),
        event({"object": "error", "message": "overloaded", "code": 400}),
    ],
)
def test_error_events_of_other_shapes(record_of: RecordOf, wire: bytes) -> None:
    record = record_of([(1, text("x")), (2, wire)])
    assert record.outcome is Outcome.STREAM_ERROR
    assert "overloaded" in record.message


@pytest.mark.parametrize(
    ("end", "outcome", "message"),
    [
        (End.RESET, Outcome.STREAM_ERROR, "boom"),
        (End.TIMEOUT, Outcome.TIMEOUT, "no further byte; it said: boom"),
        (End.CUT, Outcome.CUT, "no further byte"),
    ],
)
def test_an_error_beside_the_form_before_the_end(
    record_of: RecordOf, end: End, outcome: Outcome, message: str
) -> None:
    wire = b'{"error": {"message": "boom"}}\n\n'
    record = record_of([(1, text("x")), (2, wire)], end=end, message="no further byte")
    assert (record.outcome, record.message) == (outcome, message)


def test_a_reply_that_holds_nothing_but_words(record_of: RecordOf) -> None:
    record = record_of([(1, b'{"detail": "Not Found"}')], content_type=JSON)
    assert (record.outcome, record.detail) == (Outcome.BAD_RESPONSE, "no_choices")
    assert record.message == "a reply without an answer in it; it said: Not Found"


@pytest.mark.parametrize("content_type", [JSON, ""])
@pytest.mark.parametrize(
    "body", [b'{"choices": [{"message": {"content": "Par', b'{"data": [{"embedding": [0.1, 0', b"{"]
)
@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (End.CUT, Outcome.CUT),
        (End.TIMEOUT, Outcome.TIMEOUT),
        (End.RESET, Outcome.RESET),
        (End.CLOSED, Outcome.TRUNCATED),
        (End.COMPLETE, Outcome.BAD_RESPONSE),
    ],
)
def test_a_reply_that_breaks_off_is_no_malformed_one(
    record_of: RecordOf, content_type: str, body: bytes, end: End, outcome: Outcome
) -> None:
    """Unless it is all that the server meant to send."""
    endpoint = "embeddings" if b"data" in body else "chat"
    assert record_of([(1, body)], end=end, content_type=content_type, endpoint=endpoint).outcome is outcome


@pytest.mark.parametrize("end", [End.CUT, End.TIMEOUT])
def test_the_first_bytes_of_a_stream_are_no_foreign_body(record_of: RecordOf, end: End) -> None:
    assert record_of([(1, b"da")], end=end, content_type="").outcome.value == end.value


def test_a_reply_may_begin_with_a_byte_order_mark(record_of: RecordOf) -> None:
    whole = '\ufeff{"choices": [{"message": {"content": "Paris."}, "finish_reason": "stop"}]}'.encode()
    assert record_of([(1, whole)], content_type=JSON).outcome is Outcome.OK


def test_strange_lines_without_end_take_no_memory(record_of: RecordOf) -> None:
    """The last of them are kept."""
    lines = b"x" * 70_000 + b"\n" + b"strange: %s\n" % (b"y" * 50_000)
    record = record_of([(1, text("x")), (2, lines * 20 + b'{"detail": "boom"}\n')])
    assert (record.outcome, record.message) == (Outcome.STREAM_ERROR, "boom")


@pytest.mark.parametrize("end", [End.COMPLETE, End.CLOSED])
def test_A4_03_polite_close_in_the_middle_is_truncated(record_of: RecordOf, end: End) -> None:
    record = record_of([(i, text("x")) for i in range(8)], end=end)
    assert (record.outcome, len(record.chunk_ns)) == (Outcome.TRUNCATED, 8)


def test_A4_03_finish_reason_without_done_is_ok_with_a_note(record_of: RecordOf) -> None:
    record = record_of([(1, text("x")), (2, STOP)])
    assert (record.outcome, record.detail) == (Outcome.OK, "no_done")


def test_done_without_finish_reason_is_truncated(record_of: RecordOf) -> None:
    record = record_of([(1, text("x")), (2, DONE)])
    assert (record.outcome, record.detail) == (Outcome.TRUNCATED, "no_finish_reason")


def test_A4_05_an_answer_without_tokens_is_ok_empty(record_of: RecordOf) -> None:
    record = record_of([(1, ROLE), (2, STOP + usage(prompt_tokens=3, completion_tokens=0) + DONE)])
    assert (record.outcome, record.chunk_ns) == (Outcome.OK_EMPTY, [])


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (End.RESET, Outcome.RESET),
        (End.CUT, Outcome.CUT),
        (End.TIMEOUT, Outcome.TIMEOUT),
        (End.NOT_HTTP, Outcome.BAD_RESPONSE),
        (End.CLIENT_ERROR, Outcome.CLIENT_ERROR),
    ],
)
def test_failures_on_the_wire_keep_the_tokens(record_of: RecordOf, end: End, outcome: Outcome) -> None:
    record = record_of([(1, text("x")), (2, text("y"))], end=end, detail="d", message="m")
    assert (record.outcome, record.detail, record.message) == (outcome, "d", "m")
    assert len(record.chunk_ns) == 2


@pytest.mark.parametrize("end", [End.RESET, End.TIMEOUT, End.CUT, End.CLOSED])
def test_what_happens_after_a_whole_answer_doesnt_matter(record_of: RecordOf, end: End) -> None:
    record = record_of([(1, text("x")), (2, STOP + DONE), (900, b": bye\n\n")], end=end)
    assert (record.outcome, record.done_ns) == (Outcome.OK, 2_000_000)


@pytest.mark.parametrize("end", [End.CONNECT_ERROR, End.TLS_ERROR])
def test_no_answer_at_all(record_of: RecordOf, end: End) -> None:
    record = record_of([], end=end, status=None)
    assert (record.outcome.value, record.output_tokens) == (end.value, None)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, Outcome.HTTP_ERROR), (404, Outcome.HTTP_ERROR), (429, Outcome.REJECTED), (500, Outcome.HTTP_ERROR),
     (503, Outcome.REJECTED)],
)  # fmt: skip
def test_status_of_a_refusal(record_of: RecordOf, status: int, outcome: Outcome) -> None:
    body = json.dumps({"error": {"message": "no", "type": "BadRequestError"}}).encode()
    record = record_of([(3, body)], status=status, content_type=JSON)
    assert (record.outcome, record.detail, record.status) == (outcome, str(status), status)
    assert record.message == "no (BadRequestError)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"msg": "field required"}, {"msg": "too long"}]}', "field required; too long"),
        (b'{"error": "no\\nroom"}', "no room"),
        (b'{"success": false, "errors": [{"code": 1, "message": "no room"}], "messages": []}', "no room"),
        (b"<html>", "<html>"),
        (b"Internal Server Error", "Internal Server Error"),
        (b"<html><style>b{}</style><h1>502</h1>\r\nBad Gateway</html>", "502 Bad Gateway"),
        (b"\x1b[31mred\x1b[0m", "[31mred [0m"),
        (b"[" * 100_000, "[" * 499 + "…"),
        (b"", "no message"),
    ],
)
def test_messages_of_refusals(record_of: RecordOf, body: bytes, message: str) -> None:
    assert record_of([(1, body)] if body else [], status=500).message == message


def test_a_redirect_is_no_answer(record_of: RecordOf) -> None:
    record = record_of([], status=307)
    assert (record.outcome, record.detail) == (Outcome.HTTP_ERROR, "307")
    assert "final address" in record.message


def test_not_modified_is_no_redirect(record_of: RecordOf) -> None:
    record = record_of([], status=304)
    assert (record.outcome, record.detail) == (Outcome.HTTP_ERROR, "304")
    assert record.message.startswith("not modified")


def test_A9_01_a_key_in_a_finish_reason_is_masked(record_of: RecordOf) -> None:
    record = record_of([(1, text("x", "stop: KEY-S3CRET") + DONE)], api_key="KEY-S3CRET")
    assert record.finish_reason == "stop: ***"


@pytest.mark.parametrize(
    ("content_type", "body", "detail"),
    [
        (JSON, b'{"error": {"message": "no"}}', "error_object"),
        (JSON, b'{"choices": []}', "no_choices"),
        (JSON, b'{"id": 1', "malformed_reply"),
        ("text/html", b"<html>login</html>", "not_json"),
        ("text/html", text("x") + STOP + DONE, "not_json"),
        ("text/plain", b"hello", "not_json"),
        ("text/event-stream", b"", "empty_body"),
        ("text/event-stream", DONE, "no_choices"),
        ("text/event-stream", text("x") + b'data: {"choices": [{"del\n\n', "malformed_event"),
        ("text/event-stream", event("[1]") + DONE, "malformed_event"),
        ("text/event-stream", b"data: " + b"x" * 5_000_000, "event_too_large"),
    ],
)
def test_a_200_that_is_no_answer(record_of: RecordOf, content_type: str, body: bytes, detail: str) -> None:
    record = record_of([(1, body)] if body else [], content_type=content_type)
    assert (record.outcome, record.detail) == (Outcome.BAD_RESPONSE, detail)
    assert record.message


@pytest.mark.parametrize(
    ("wire", "outcome", "message"),
    [
        ({"type": "response.completed"}, Outcome.OK, ""),
        ({"type": "response.failed"}, Outcome.STREAM_ERROR, "without a message"),
        (
            {
                "type": "response.in_progress",
                "response": {"status": "failed", "error": {"message": "no GPU"}},
            },
            Outcome.STREAM_ERROR,
            "no GPU",
        ),
    ],
)
def test_states_of_a_response(
    record_of: RecordOf, wire: dict[str, Any], outcome: Outcome, message: str
) -> None:
    """Without the response itself, or with an error before the end that then never comes."""
    token = event({"type": "response.output_text.delta", "delta": "a"})
    record = record_of([(1, token), (2, event(wire))], endpoint="responses")
    assert record.outcome is outcome
    assert message in record.message


def embedded(embedding: str) -> bytes:
    return f'{{"object": "list", "data": [{{"index": 0, "embedding": {embedding}}}]}}'.encode()


def packed(*numbers: float, code: str = "f") -> str:
    return json.dumps(base64.b64encode(struct.pack(f"<{len(numbers)}{code}", *numbers)).decode())


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        ('["x"]', "Expected `float`, got `str` - at `$[0]`"),
        ("[0.1, null]", "got `null` - at `$[1]`"),
        ("[true]", "got `bool`"),
        ("[0.1, NaN]", "got `bool`"),
        ("[1e999]", "out of range"),
        ("[[0.1], [null]]", "at `$[1][0]`"),
        ("[[0.1], 2]", "got `int`"),
        ('{"0": 1}', "got `object`"),
        ("0.5", "got `float`"),
        ('"no base64!"', "base64"),
        (packed(1, 2, 3, code="e"), "6 bytes, which are no numbers of 4"),
        (packed(1.0, float("nan")), "isn't finite"),
        ("[]", "without an answer"),
        ("[[]]", "without an answer"),
        ("null", "without an answer"),
        ('""', "without an answer"),
    ],
)
def test_an_embedding_that_is_none(record_of: RecordOf, embedding: str, message: str) -> None:
    record = record_of([(1, embedded(embedding))], content_type=JSON, endpoint="embeddings")
    assert record.outcome is Outcome.BAD_RESPONSE
    assert message in record.message


@pytest.mark.parametrize(
    ("embedding", "sampling"),
    [
        ("[0.1, -2, 3e-7]", {}),
        ("[ [0.1, 2], [3, 4]]", {}),
        (packed(0.5, -1.0), {"encoding_format": "base64"}),
        (packed(1, 2, 3, code="e"), {"encoding_format": "base64", "embed_dtype": "float16"}),
        (packed(-1, 127, -1, 127, 5, code="b"), {"encoding_format": "base64", "output_dtype": "int8"}),
    ],
)
def test_an_embedding(record_of: RecordOf, embedding: str, sampling: dict[str, str]) -> None:
    """Numbers, several lists of them, or in base64: 32-bit floats unless others were asked for."""
    reads = [(1, embedded(embedding))]
    record = record_of(reads, content_type=JSON, endpoint="embeddings", sampling=sampling)
    assert record.outcome is Outcome.OK, record.message


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/octet-stream"])
def test_a_stream_under_another_name(record_of: RecordOf, content_type: str) -> None:
    record = record_of([(1, text("x")), (2, STOP + DONE)], content_type=content_type)
    assert (record.outcome, len(record.chunk_ns)) == (Outcome.OK, 1)


def test_A5_06_one_reply_instead_of_a_stream(record_of: RecordOf) -> None:
    reply = {
        "choices": [{"index": 0, "message": {"content": "Paris."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    }
    whole = json.dumps(reply).encode()
    record = record_of([(500, whole[:20]), (510, whole[20:])], content_type=JSON)
    assert (record.outcome, record.detail, record.streamed) == (Outcome.OK, "not_streamed", False)
    assert (record.output_tokens, record.chunk_ns, record.answer) == (3, [], "Paris.")
    assert record.done_ns == 510_000_000


@pytest.mark.parametrize(("num_tokens", "outcome"), [(51, Outcome.SHORT_OUTPUT), (98, Outcome.OK)])
def test_ignore_eos_and_a_short_answer(record_of: RecordOf, num_tokens: int, outcome: Outcome) -> None:
    reads = [(1, text("x")), (2, STOP + usage(completion_tokens=num_tokens) + DONE)]
    record = record_of(reads, sampling={"ignore_eos": True, "max_tokens": 100})
    assert (record.outcome, record.expected_tokens) == (outcome, 100)


def test_a_short_answer_by_assumed_tokens_is_not_held_against_the_server(record_of: RecordOf) -> None:
    reads = [(1, text("a b c")), (2, STOP + DONE)]
    assert record_of(reads, sampling={"ignore_eos": True, "max_tokens": 100}).outcome is Outcome.OK


def test_A9_01_the_servers_words_dont_show_the_key(record_of: RecordOf) -> None:
    body = b'{"error": {"message": "key sk-canary-123 is wrong"}}'
    record = record_of([(1, body)], status=401, api_key="sk-canary-123")
    assert record.message == "key *** is wrong"


@pytest.mark.parametrize("body", ["%s", '{"error": "%s"}'])
def test_A9_01_nor_a_part_of_it_where_they_are_cut(record_of: RecordOf, body: str) -> None:
    """Masked first, cut then."""
    said = (body % f"{'x' * 490} sk-canary-123456789").encode()
    record = record_of([(1, said)], status=401, api_key="sk-canary-123456789")
    assert "sk-" not in record.message
    assert record.message.endswith("x ***")


def test_R9_blanks_without_end_are_not_all_kept_nor_looked_at_again(record_of: RecordOf) -> None:
    reads = [(i, b" " * 65_536) for i in range(1_000)]
    begun_s = time.process_time()
    record = record_of(reads, content_type="")
    assert (record.outcome, record.detail) == (Outcome.BAD_RESPONSE, "not_json")
    assert time.process_time() - begun_s < 3


def test_blanks_before_a_reply(record_of: RecordOf) -> None:
    reply = b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'
    record = record_of([*((i, b" ") for i in range(2_000)), (2_001, reply)], content_type="")
    assert (record.outcome, record.answer) == (Outcome.OK, "x")


def test_an_error_line_within_the_block_of_the_last_token(record_of: RecordOf) -> None:
    block = text("x").removesuffix(b"\n") + b'{"error": {"message": "boom"}}\n\n'
    record = record_of([(1, text("x")), (2, block)])
    assert (record.outcome, record.message, len(record.chunk_ns)) == (Outcome.STREAM_ERROR, "boom", 2)
