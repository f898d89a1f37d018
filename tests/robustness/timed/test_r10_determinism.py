"""R10: the same seed sends the same bytes at the same times; a clear case always gets the same verdict."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.timetable_process import TimetableProcess

from reports.result import Verdict

if TYPE_CHECKING:
    from reports.result import Result
    from tests.robustness.conftest import Perform

DIGEST = """
import hashlib, sys
from harness.client import Client
from harness.target import Target
from scenarios.scenario import load_scenario
from scenarios.timeouts import Timeouts
schedule = load_scenario(sys.argv[1], {"load.requests": "200", "seed": sys.argv[2]}).schedule()
client = Client(Target.parse("127.0.0.1:1"), "chat", "m", Timeouts())
digest = hashlib.sha256()
for arrival in __import__("itertools").islice(schedule.arrivals, 200):
    prepared = client.prepare(arrival)
    digest.update(repr((arrival.index, arrival.due_ns, prepared.request.path)).encode())
    digest.update(prepared.request.body)
print(digest.hexdigest())
"""


def digest(scenario: str, seed: int, hash_seed: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DIGEST, scenario, str(seed)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    assert len(done.stdout.strip()) == hashlib.sha256().digest_size * 2
    return done.stdout


def undisturbed(perform: Perform, *arguments: Any, **options: Any) -> Result:
    """A run that no stall of this machine made INVALID; after three it is not the machine."""
    for _ in range(3):
        result = perform(*arguments, **options).result
        if not result.causes:
            break
    return result


def test_R10_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    assert digest("chat", 7, 1) == digest("chat", 7, 2) != digest("chat", 8, 1)


@pytest.mark.parametrize("num", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_R10_a_verdict_away_from_the_border_is_always_the_same(num: int, perform: Perform) -> None:
    """TTFT 0.5 s against 10 s and against 1 ms, every time."""
    load = {"arrivals": "constant", "rate": 100, "requests": 80}
    with TimetableProcess("--ttft", "500ms", "--gap", "1ms") as server:
        for limit, verdict in (("p90 < 10s", Verdict.PASS), ("p90 < 1ms", Verdict.FAIL)):
            keys = {"thresholds": {"ttft": [limit]}}
            found = [undisturbed(perform, server.url, load, keys=keys, model=None) for _ in range(num)]
            assert [(result.verdict, result.causes) for result in found] == [(verdict, ())] * num
            assert len({result.num_requests for result in found}) == 1
