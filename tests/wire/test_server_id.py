"""Names of requests: ours and the server's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.client import Client
from harness.secrets import Secrets
from harness.summary.error_table import ErrorTable
from harness.target import Target
from harness.wire.server_id import server_id
from reports import view
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts

if TYPE_CHECKING:
    from tests.conftest import MakeRecord
    from tests.wire.conftest import RecordOf

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"id": "chatcmpl-7", "choices": []}', "chatcmpl-7"),
        (b'{"type": "response.created", "response": {"id": "resp_9"}}', "resp_9"),
        (b'{"type": "response.created", "response": {}}', None),
        (b'{"choices": []}', None),
        (b'{"id": ""}', None),
        (b'{"id": 5}', None),
        (b'{"id": "\xff"}', None),
        (b"[DONE]", None),
        (b"", None),
    ],
)
def test_server_id(data: bytes, expected: str | None) -> None:
    assert server_id(data) == expected


def test_an_endless_name_is_cut() -> None:
    assert len(server_id(b'{"id": "' + b"x" * 10_000 + b'"}') or "") == 200


@pytest.mark.parametrize("size", [7, 1_000_000])
@pytest.mark.parametrize("name", ["vllm/chat_stream", "llama-server/chat_stream"])
def test_the_record_has_what_the_server_said(record_of: RecordOf, name: str, size: int) -> None:
    """Whether its events are decoded together or one by one."""
    wire = (CAPTURES / f"{name}.sse").read_bytes()
    said = re.search(rb'"id": ?"([^"]+)"', wire)
    assert said
    record = record_of([(at + 1, wire[at : at + size]) for at in range(0, len(wire), size)])
    assert record.server_id == said[1].decode()


def test_a_reply_in_one_piece_has_it_too(record_of: RecordOf) -> None:
    reply = b'{"id": "cmpl-1", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}'
    assert record_of([(1, reply)], content_type="application/json").server_id == "cmpl-1"


def _request_ids(headers: dict[str, str]) -> list[str | None]:
    client = Client(Target.parse("127.0.0.1:1", headers=headers), "chat", "m", Timeouts())
    arrivals = (Arrival(index=i, due_ns=0, prompt=Prompt(text="Hi"), sampling={}) for i in range(3))
    return [client.prepare(arrival).request.request_id for arrival in arrivals]


def test_our_ids_are_those_of_one_run_and_one_request() -> None:
    first, second = _request_ids({}), _request_ids({})
    assert len({*first, *second}) == 6
    assert all(re.fullmatch(r"tokenpace-[0-9a-f]{8}-\d", each or "") for each in first)


def test_an_id_given_by_hand_is_not_taken_for_ours() -> None:
    assert _request_ids({"x-request-id": "mine"}) == [None, None, None]


def test_the_error_table_says_where_to_look(make_record: MakeRecord) -> None:
    """By the id of the very request whose message is shown."""
    table = ErrorTable()
    for i in (4, 2, 9):
        table.add(
            make_record(
                i, chunks=(), outcome="http_error", detail="500", message=f"no {i}", request_id=f"r-{i}"
            )
        )
    (error,) = table.classes()
    assert (error.sample, error.request_id) == ("no 2", "r-2")
    assert view.error_sample(error) == "no 2 (X-Request-Id r-2)"


def test_A9_01_a_secret_in_it_is_taken_out_before_it_is_cut() -> None:
    """A key that ends beyond the cut would not be known for one."""
    data = b'{"id": "' + b"x" * 190 + b'sk-very-secret-key"}'
    assert server_id(data, Secrets(["sk-very-secret-key"]).mask) == "x" * 190 + "***"
