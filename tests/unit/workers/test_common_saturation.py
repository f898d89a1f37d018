"""Saturation is found from what all workers tell, as it is from what one process sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.client_health import HealthProbe
from harness.drivers import LoadFacts
from harness.drivers.saturation import Bins, Saturation
from harness.live_view import LiveView
from harness.load_status import LoadStatus
from harness.summary.pace import Pace
from harness.workers.limits import CommonLimits
from scenarios.schedule import StopLimits

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

S = 10**9


def _status(elapsed_ns: int) -> LoadStatus:
    health = HealthProbe().report(LoadFacts(), is_open=True)
    return LoadStatus(elapsed_ns=elapsed_ns, pace=Pace().state(), live=LiveView().state(), health=health)


def test_bins_of_parts_tell_what_the_whole_does(make_record: MakeRecord) -> None:
    """Twenty requests a second to a server that does ten: in any shares, the same words."""
    whole, limits = Saturation(30 * S), CommonLimits(StopLimits(saturation_after_ns=30 * S))
    bins = [Bins(), Bins(), Bins()]
    for index in range(1_200):
        due_ms = 50.0 * index
        whole.begun(round(due_ms * 1e6))
        bins[index % 3].begun(round(due_ms * 1e6))
    for index in range(600):
        due_ms, done_ms = 50.0 * index, 100.0 * (index + 1)
        record = make_record(index, due=due_ms, chunks=(done_ms - due_ms,), done_ns=round(done_ms * 1e6))
        whole.ended(record)
        bins[index % 3].ended(record)
    limits.take([])
    for each in bins:
        limits.take(each.take())
        assert each.take() == []
    assert limits.passed([_status(60 * S), _status(29 * S)]) is None
    found = limits.passed([_status(60 * S), _status(61 * S)])
    assert found is not None
    assert found == whole.look(60 * S)
    assert "more was sent than the server can do" in found
