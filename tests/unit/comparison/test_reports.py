"""What is shown of a comparison: alike everywhere, literally, and without contradicting itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.comparison.baselines import Baselines
from harness.comparison.comparing import compare
from harness.comparison.figure import figures_of
from harness.comparison.sources import side_of
from reports.comparison import console, document, html, markdown, view, write
from reports.comparison.document import Change, Comparison
from reports.document import DocumentError, schema_text

if TYPE_CHECKING:
    from tests.unit.comparison.conftest import MakeRun

ROOT = Path(__file__).parents[3]
HOSTILE = "</script><title>x|`*"


@pytest.fixture
def comparison(make_run: MakeRun) -> Comparison:
    """TTFT 30 % slower, and a model whose name means mischief."""
    a = make_run("a", noise=1, model=HOSTILE)
    b = make_run("b", noise=2, ttft_ms=130, model=HOSTILE)
    store = Baselines()
    figures = figures_of(["ttft", "tpot p50", "error_rate"])
    return compare(side_of(str(a), store), side_of(str(b), store), figures=figures, times=300)


def test_json_is_read_back(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write(comparison, "json", path)
    assert document.load(path) == comparison
    assert json.loads(path.read_text())["schema_version"] == 1
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(DocumentError, match="schema version 2, this tokenpace reads 1"):
        document.load(path)


def test_the_schema_in_docs_is_the_one_of_the_code() -> None:
    assert (ROOT / "docs/comparison.schema.json").read_text() == schema_text(
        Comparison, document.SCHEMA_VERSION, document.NAME
    )


def test_every_output_shows_every_figure_alike(comparison: Comparison) -> None:
    texts = [console.render(comparison), markdown.render(comparison), html.render(comparison)]
    for line in view.lines(comparison):
        for cell in (line.a, line.b, line.change, line.verdict):
            assert all(cell in text for text in texts), (line.name, cell)


def test_the_worst_is_on_top(comparison: Comparison) -> None:
    assert comparison.verdict is Change.REGRESSION
    assert console.render(comparison).lstrip().startswith("REGRESSION")
    assert markdown.render(comparison).startswith("## ❌ REGRESSION: b against a")
    assert '<span class="word">REGRESSION</span>' in html.render(comparison)


def test_b5_01_names_are_shown_literally(comparison: Comparison) -> None:
    page = html.render(comparison)
    assert "<title>x" not in page
    assert page.count("</script>") == 2
    assert "&lt;/script&gt;&lt;title&gt;x|`*" in page
    assert r"\</script\>\<title\>x\|\`\*" in markdown.render(comparison)


def test_the_page_needs_nothing_and_draws_both_curves(comparison: Comparison) -> None:
    page = html.render(comparison)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    charts = re.findall(r'id="chart-(\w+)"', page)
    assert charts == ["ttft", "tpot", "itl", "e2e"]
    assert page.count('class="mark line s1"') >= 4
    assert page.count('class="mark line s2"') >= 4


def test_b1_05_a_bound_is_never_written_on_the_wrong_side(comparison: Comparison) -> None:
    """A bound of +5.0004 % beside an allowed +5 % gets the digits that show it."""
    figure = msgspec.structs.replace(
        comparison.figures[0],
        change=1.05004,
        low=1.0500004,
        high=1.06,
        allowed=1.05,
        verdict=Change.REGRESSION,
    )
    (line,) = view.lines(msgspec.structs.replace(comparison, figures=(figure,)))
    low = float(line.interval.split(" to ")[0])
    assert low > 5
    assert line.allowed == "+5 %"


def test_a_refused_comparison_says_why_first(make_run: MakeRun) -> None:
    store = Baselines()
    a = side_of(str(make_run("a", noise=1)), store)
    b = side_of(str(make_run("b", noise=2, model="n")), store)
    done = compare(a, b)
    for text in (console.render(done), markdown.render(done), html.render(done)):
        assert "not asked the same" in " ".join(text.split()).replace("\\", "")
        assert "INVALID" in text


def test_a_narrow_terminal_keeps_verdict_and_change(comparison: Comparison) -> None:
    from rich.console import Console

    narrow = Console(width=80, record=True, file=None, force_terminal=False)
    with narrow.capture() as captured:
        console.show(comparison, narrow)
    line = next(line for line in captured.get().splitlines() if "ttft p50" in line and "regression" in line)
    assert "+29.3 %" in line
    assert all(len(each) <= 80 for each in captured.get().splitlines())
