"""The few numbers that are shown meanwhile: of one process or of several."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.live_view import LATELY_S, LiveState, LiveView

if TYPE_CHECKING:
    from tests.conftest import MakeRecord


def test_views_of_parts_show_what_one_view_does(make_record: MakeRecord) -> None:
    whole, parts, merged = LiveView(), [LiveView(), LiveView()], LiveView()
    for index in range(60):
        outcome = "reset" if index % 10 == 9 else "ok"
        record = make_record(index, chunks=(50 + index, 90 + 2 * index), outcome=outcome)
        whole.add(record)
        parts[index % 2].add(record)
    for part in parts:
        sent = msgspec.msgpack.encode(part.state())
        merged.merge(msgspec.msgpack.decode(sent, type=LiveState))
    assert (merged.num_ok, merged.num_failed) == (54, 6)
    for name in ("ttft", "tpot"):
        assert merged.percentile(name, 95) == whole.percentile(name, 95)
    assert merged.tokens_per_s() == whole.tokens_per_s() == pytest.approx(60 * 2 / LATELY_S)


def test_what_ended_long_ago_is_no_rate(make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = time.monotonic_ns()
    monkeypatch.setattr("harness.live_view.time.monotonic_ns", lambda: now_ns)
    view = LiveView()
    assert view.tokens_per_s() is None
    view.add(make_record())
    now_ns += int(4.8e9)
    assert view.tokens_per_s() == pytest.approx(4 / LATELY_S)
    now_ns += int(0.4e9)
    assert view.tokens_per_s() is None


def test_without_a_sample_there_is_no_percentile() -> None:
    view = LiveView()
    view.merge(LiveView().state())
    assert view.percentile("ttft", 50) is None
