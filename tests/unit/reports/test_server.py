"""The server's own figures in every form of a report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from reports import result as results
from reports.formats import console, html, junit, markdown
from reports.formats.html.server_charts import server_charts
from reports.server_telemetry import CheckVerdict, CrossCheck, ServerPoint, ServerTelemetry
from reports.server_view import summary_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reports.result import Result

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m"


def telemetry(**changes: object) -> ServerTelemetry:
    """A minute of a server that fills up."""
    points = tuple(
        ServerPoint(at_s=float(i), running=min(8.0, i), waiting=max(0.0, i - 8), kv_usage=i / 80)
        for i in range(60)
    )
    checks = (
        CrossCheck(
            name="output_tokens",
            unit="tokens",
            client=16_384,
            server=16_384,
            ratio=1.0,
            verdict=CheckVerdict.OK,
            message="the client received 16,384 tokens, the server counted 16,384",
        ),
        CrossCheck(
            name="ttft",
            unit="ns",
            client=84e6,
            server=112e6,
            ratio=4 / 3,
            verdict=CheckVerdict.DIFFERS,
            message="mean TTFT is 84 ms at the client and 112 ms within the server",
        ),
    )
    fields = {
        "dialect": "vllm",
        "url": "http://127.0.0.1:8000/metrics",
        "num_readings": 62,
        "ttft_mean": 112e6,
        "preemptions": 3.0,
        "points": points,
        "checks": checks,
        "notes": ("one thing is not compared",),
        **changes,
    }
    return ServerTelemetry(**fields)  # type: ignore[arg-type]  # fields as given


@pytest.fixture
def served(make_result: Callable[..., Result]) -> Result:
    return make_result(num=40, server=telemetry())


def test_the_page_has_a_section_with_charts_and_checks(served: Result) -> None:
    page = html.render(served)
    section = page[page.index('id="server"') : page.index('id="errors"')]
    assert re.findall(r'id="chart-([\w-]+)"', section) == ["server-requests", "server-kv"]
    assert "at most running 8 requests, waiting 51 requests" in section
    assert "vllm metrics from http://127.0.0.1:8000/metrics, read 62 times" in section
    assert re.findall(r'class="check (\w+)">(\w+)<', section) == [("pass", "ok"), ("inconclusive", "differs")]
    assert '<td class="n">84 ms<td class="n">112 ms<td class="n">1.33<' in section
    assert "One thing is not compared. A difference is a remark and not a verdict" in section
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]  # always there
    assert len(data["charts"]["server-requests"]["series"]) == 2
    assert len(data["charts"]["server-kv"]["xs"]) == 60


def test_without_telemetry_there_is_no_section(result: Result) -> None:
    page = html.render(result)
    assert 'id="server"' not in page
    assert 'href="#server"' not in page
    assert not re.search(r"^ server ", console.render(result), re.MULTILINE)


def test_two_lines_on_the_terminal(served: Result) -> None:
    assert list(summary_lines(served.server)) == [
        (
            "vllm: running at most 8, waiting at most 51, KV cache at most 73.8 %, preemptions 3, "
            "mean TTFT 112 ms"
        ),
        "1 of 2 cross-checks with the client agree; these differ: ttft",
    ]
    assert console.render(served).count("\n server ") == 2
    assert markdown.render(served).count("- **server:** ") == 2


@pytest.mark.parametrize(
    "changes", [{"points": ()}, {"checks": (), "notes": ()}, {"points": (ServerPoint(at_s=1.0),)}]
)
def test_a_server_that_says_little(make_result: Callable[..., Result], changes: dict[str, object]) -> None:
    lean = make_result(num=5, server=telemetry(**changes))
    assert 'id="server"' in html.render(lean)
    assert "vllm" in console.render(lean)
    if "points" in changes:
        assert server_charts(lean) == []


def test_gaps_in_a_series_are_gaps_in_its_line(make_result: Callable[..., Result]) -> None:
    points = tuple(ServerPoint(at_s=float(i), kv_usage=None if i == 2 else 0.5) for i in range(5))
    (chart,) = server_charts(make_result(num=5, server=telemetry(points=points)))
    assert chart.series[0].ys[2] is None
    assert [mark.path.count("M") for mark in chart.marks] == [2, 2]


def test_nothing_from_the_server_becomes_markup(make_result: Callable[..., Result]) -> None:
    check = CrossCheck(
        name=HOSTILE, unit="tokens", client=0, server=1, ratio=None, verdict=CheckVerdict.OK, message=HOSTILE
    )
    hostile = telemetry(dialect=HOSTILE, url=HOSTILE, checks=(check,), notes=(HOSTILE,))
    result = make_result(num=5, server=hostile)
    for render in (html.render, console.render, markdown.render, junit.render):
        assert "\x1b" not in render(result)
    assert "<img" not in html.render(result)


def test_it_survives_the_disk_and_older_results_have_none(served: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    results.save(served, path)
    assert results.load(path) == served
    older = json.loads(path.read_text())
    del older["server"]
    path.write_text(json.dumps(older))
    assert results.load(path).server is None
