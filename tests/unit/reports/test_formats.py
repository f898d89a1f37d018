"""Each form of a report, on ordinary, empty, short and hostile results."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import msgspec
import pytest

from reports import formats, view
from reports.formats import UnknownReportError, console, html, junit, markdown, write_reports
from reports.formats.html.embed import json_for_script
from reports.formats.html.time_charts import time_charts
from reports.result import ErrorClass, Percentile, RequestRow, RuleResult, Sample, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reports.result import Result

ALL = formats.names()
HOSTILE = "</script><title>x</title><img src=x onerror=alert(1)>\x1b[31m\x00&\u2028 | `@all` ]]> \ud800"


@pytest.fixture(scope="session")
def hostile_result(make_result: Callable[..., Result]) -> Result:
    """Everything that comes from outside is an attack."""
    row = RequestRow(index=0, start_s=0.1, outcome="http_error", detail=HOSTILE, e2e=1_000, message=HOSTILE)
    return make_result(
        num=20,
        model=f"a\"b'c{HOSTILE}",
        base_url=HOSTILE,
        scenario_name=HOSTILE,
        scenario={HOSTILE: {HOSTILE: [HOSTILE]}},
        notes=(HOSTILE,),
        causes=(HOSTILE,),
        verdict=Verdict.INVALID,
        errors=(ErrorClass(outcome="http_error", detail=HOSTILE, count=1, sample=HOSTILE),),
        requests=(row,),
        samples=(Sample(index=0, prompt=HOSTILE, answer=HOSTILE),),
        environment={HOSTILE: HOSTILE},
    )


def test_reports_are_found_by_themselves() -> None:
    assert ALL == ("console", "html", "junit", "markdown")


@pytest.mark.parametrize("name", ALL)
def test_a_report_keeps_its_contract(
    name: str, result: Result, empty_result: Result, hostile_result: Result
) -> None:
    """A file name, and a pure function from a result to text."""
    report = formats.get(name)
    assert re.fullmatch(r"[a-z]+\.[a-z]+", report.FILE_NAME)
    for each in (result, empty_result, hostile_result):
        text = report.render(each)
        assert text == report.render(each)
        assert "\x1b" not in text
        assert "\x00" not in text
        assert not re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE)


def test_written_to_a_folder(result: Result, tmp_path: Path) -> None:
    written = write_reports(result, tmp_path / "new", ["junit", "html"])
    assert written == {"junit": tmp_path / "new" / "junit.xml", "html": tmp_path / "new" / "report.html"}
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["junit.xml", "report.html"]


def test_an_unknown_report_is_refused_before_anything_is_written(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UnknownReportError, match="did you mean junit"):
        write_reports(result, tmp_path / "new", ["html", "junti"])
    assert not (tmp_path / "new").exists()


def test_a_lone_surrogate_does_not_lose_the_report(hostile_result: Result, tmp_path: Path) -> None:
    for path in write_reports(hostile_result, tmp_path).values():
        path.read_text("utf-8")


@pytest.mark.parametrize("verdict", [*Verdict, None])
def test_the_verdict_is_the_first_word_everywhere(
    verdict: Verdict | None, make_result: Callable[..., Result]
) -> None:
    result = make_result(num=20, verdict=verdict)
    word = verdict or "NOT JUDGED"
    assert console.render(result).split("  ")[0].strip() == word
    assert markdown.render(result).splitlines()[0].split(" ", 2)[2] == f"{word}: chat"
    assert f'<span class="word">{word}</span>' in html.render(result)


def test_an_interrupted_run_says_so(make_result: Callable[..., Result]) -> None:
    result = make_result(num=20, interrupted="SIGINT", verdict=Verdict.PASS)
    assert console.render(result).startswith(" INTERRUPTED ")
    assert "figures are partial" in markdown.render(result)
    assert ET.fromstring(junit.render(result)).find(".//error").attrib["type"] == "INTERRUPTED"


@pytest.mark.parametrize("render", [console.render, html.render, markdown.render, junit.render])
def test_B1_05_every_output_shows_digits_that_agree_with_the_verdict(
    render: Callable[[Result], str], make_result: Callable[..., Result]
) -> None:
    rule = RuleResult(
        rule="ttft p99 < 500ms",
        metric="ttft",
        observed=499.96e6,
        limit=500e6,
        unit="ns",
        verdict=Verdict.PASS,
        confidence=0.95,
        n=900,
        low=490e6,
        high=499.99e6,
    )
    text = render(make_result(num=20, rules=(rule,), verdict=Verdict.PASS))
    assert "499.96 ms" in text
    assert "499.99 ms" in text


def test_B2_06_percentiles_ascend_in_every_table(result: Result) -> None:
    for line in view.metric_lines(result, view.columns(result)):
        if not line.reason:
            row = [float(number.replace(",", "")) for number in (*line.percentiles, line.maximum)]
            assert row == sorted(row)


# HTML


def test_B5_01_nothing_from_outside_becomes_markup(hostile_result: Result) -> None:
    page = html.render(hostile_result)
    assert page.count("<script") == page.count("</script>") == 2
    assert page.count("<title>") == page.count("</title>") == 1
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert page.rstrip().endswith("</html>")


def test_B5_01_embedded_json_is_strict_and_cannot_end_its_element() -> None:
    data = {"x": "</script><!-- & \u2028\u2029"}
    text = json_for_script(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data
    with pytest.raises(ValueError, match="JSON compliant"):
        json_for_script({"x": float("nan")})


def test_B5_03_a_very_short_run_has_tables_and_charts(make_result: Callable[..., Result]) -> None:
    page = html.render(make_result(num=10, duration_s=0.4, fail_share=0))
    rows = page.split('<table id="requests">')[1].split("<tbody>")[1].split("</tbody>")[0]
    assert rows.count("<tr") == 10
    for name in ("percentiles", "ttft-time", "requests-time", "ttft-scatter", "e2e-scatter"):
        figure = page.split(f'id="chart-{name}"')[1].split("</svg>")[0]
        assert re.search(r'class="mark [^"]*" d="M\d+ \d+', figure), name


def test_html_needs_nothing_from_the_network(result: Result) -> None:
    page = html.render(result)
    assert not re.search(r"""(?:src|href)\s*=\s*(?!["']?#)|url\(|@import|<link""", page)
    assert "default-src 'none'" in page
    assert len(page.encode()) < 500_000


def test_html_of_the_largest_result_stays_small(make_result: Callable[..., Result]) -> None:
    assert len(html.render(make_result(num=2_500, duration_s=60)).encode()) < 500_000


def test_html_of_a_run_that_failed_throughout_stays_small(make_result: Callable[..., Result]) -> None:
    rows = tuple(
        RequestRow(index=i, start_s=i / 100, outcome="http_error", detail="500", message="x" * 500)
        for i in range(2_000)
    )
    assert len(html.render(make_result(requests=rows)).encode()) < 600_000


def test_html_holds_every_number_without_a_script(result: Result) -> None:
    page = re.sub(r"<script.*?</script>", "", html.render(result), flags=re.DOTALL)
    for rule in result.rules:
        assert rule.rule.replace("<", "&lt;").replace(">", "&gt;") in page
    assert page.split('<table id="requests">')[1].count("<tr") == 901
    assert "queue full" in page


def test_html_draws_slices_with_gaps_and_unequal_percentiles(make_result: Callable[..., Result]) -> None:
    """Short gaps are bridged, long ones are seen; a slice may lack a percentile that others have."""
    points = [msgspec.structs.replace(each, ttft=()) for each in make_result(num=200, duration_s=30).timeline]
    both = (50.0, 99.0)
    for i, percentiles in {0: (50.0,), 1: both, 4: both, 5: (99.0,), 25: both, 26: both}.items():
        values = tuple(Percentile(p=p, value=1e6 * p) for p in percentiles)
        points[i] = msgspec.structs.replace(points[i], ttft=values)
    chart = next(
        each for each in time_charts(make_result(timeline=tuple(points))) if each.name == "ttft-time"
    )
    median = next(mark.path for mark in chart.marks if mark.kind == "line")
    assert median.count("L") == 3, "0 to 1 to 4, 25 to 26"
    assert median.count("M") == 2


def test_html_names_no_section_that_is_not_there(empty_result: Result) -> None:
    page = html.render(empty_result)
    for target in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{target}"' in page
    assert "no successful request" in page


def test_html_without_curves_draws_the_summarised_percentiles(make_result: Callable[..., Result]) -> None:
    assert 'id="chart-percentiles"' in html.render(make_result(curves=()))


# JUnit, Markdown, CSV


def test_junit_tells_failures_from_errors(result: Result, empty_result: Result) -> None:
    suite = ET.fromstring(junit.render(result)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "2", "0")
    assert {each.get("type") for each in suite.iter("failure")} == {"FAIL", "INCONCLUSIVE"}
    empty = ET.fromstring(junit.render(empty_result)).find("testsuite")
    assert (empty.get("failures"), empty.get("errors")) == ("0", "2")


def test_markdown_shows_hostile_text_literally(hostile_result: Result) -> None:
    text = markdown.render(hostile_result)
    assert "<img" not in re.sub(r"`[^`\n]*`", "", text).replace(r"\<img", "")
    assert "@all" not in re.sub(r"`[^`\n]*`", "", text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (4, 8, 11, 12) for row in rows)
