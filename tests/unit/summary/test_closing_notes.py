"""Notes on usages that are none, requests sent again, and bodies without an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.summary.observations import Observations

if TYPE_CHECKING:
    from tests.conftest import MakeRecord


def notes(records: list[Any]) -> tuple[str, ...]:
    whole = Observations()
    for record in records:
        part = Observations()
        part.add(record, measured=True)
        whole.merge(part.state())
    return whole.notes()


@pytest.mark.parametrize(
    ("fields", "one", "many"),
    [
        (
            {"usage_left_out": True},
            "the server's usage of 1 answer was no count of tokens and was left out",
            "the server's usage of 3 answers was no count of tokens and was left out",
        ),
        (
            {"num_resends": 2},
            "1 request was sent again on a new connection: the server had closed the old one",
            "3 requests were sent again on a new connection: the server had closed the old one",
        ),
        (
            {"body_left_open": True},
            "the HTTP bodies of 1 answer did not end with their stream: 100 ms were waited for each",
            "the HTTP bodies of 3 answers did not end with their stream: 100 ms were waited for each",
        ),
    ],
)
def test_a_note_says_how_many(make_record: MakeRecord, fields: dict[str, Any], one: str, many: str) -> None:
    plain, odd = make_record(), make_record(**fields)
    assert not [note for note in notes([plain]) if note.startswith((one, many))]
    assert [note for note in notes([plain, odd]) if note.startswith(one)]
    failed = make_record(outcome="reset", **fields)
    assert [note for note in notes([plain, odd, odd, failed]) if note.startswith(many)]
