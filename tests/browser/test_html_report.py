"""The HTML report in a real browser: nothing fails, nothing from outside runs, every tool works."""

from __future__ import annotations

import importlib.util
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from reports.formats import html
from reports.result import ErrorClass, RequestRow, Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from reports.result import Result

    from .conftest import Browser

ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def _made_up_results() -> ModuleType:
    """The results of the reports' unit tests."""
    path = Path(__file__).parents[1] / "unit" / "reports" / "conftest.py"
    spec = importlib.util.spec_from_file_location("made_up_results", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def result() -> Result:
    results = _made_up_results()
    made: Result = results.result_of(results.Run(300, 30.0))
    return made


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Callable[[Result], Browser]:
    """Renders a result and opens it."""

    def opened(result: Result) -> Browser:
        path = tmp_path / "report.html"
        path.write_bytes(html.render(result).encode("utf-8", "backslashreplace"))
        browser.resize(1280, 900)
        browser.emulate()
        browser.open(path)
        return browser

    return opened


def test_it_opens_without_a_complaint(show: Callable[[Result], Browser], result: Result) -> None:
    page = show(result)
    assert page.run("return document.documentElement.classList.contains('js')")
    assert page.run("return document.querySelector('.word').textContent") == "FAIL"
    assert page.run("return document.querySelectorAll('.chart').length") == 9
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.complaints() == []


def test_B5_01_nothing_from_outside_runs(show: Callable[[Result], Browser], result: Result) -> None:
    row = RequestRow(index=0, start_s=1.0, outcome="http_error", message=ATTACK)
    hostile = msgspec.structs.replace(
        result,
        model=f"\"'{ATTACK}",
        scenario={ATTACK: ATTACK},
        notes=(ATTACK,),
        errors=(ErrorClass(outcome="http_error", detail=ATTACK, count=1, sample=ATTACK),),
        requests=(row, *result.requests),
        samples=(Sample(index=0, prompt=ATTACK, answer=ATTACK),),
    )
    page = show(hostile)
    assert page.run("return document.title").startswith("FAIL: chat on \"'</script>")
    assert page.run("return document.images.length + document.scripts.length") == 2
    assert page.run("return document.querySelector('footer') !== null")
    assert page.complaints() == []


def test_requests_are_sorted_and_filtered(show: Callable[[Result], Browser], result: Result) -> None:
    page = show(result)
    shown = "return [...document.querySelectorAll('#requests tbody tr')].filter(r => !r.hidden)"
    press = "document.querySelectorAll('#requests th button')[arguments[0]].click()"
    assert page.run("return document.getElementById('shown').textContent") == "300 of 300 rows"
    page.run(press, 5)
    slowest_last = page.run(f"{shown}.map(r => r.cells[5].textContent)")
    numbers = [float(text) for text in slowest_last if text != "–"]  # noqa: RUF001 (an en dash is meant)
    assert numbers == sorted(numbers)
    assert slowest_last[: len(numbers)] == [f"{number:.1f}" for number in numbers], (
        "rows without one are last"
    )
    page.run(press, 5)
    assert float(page.run(f"{shown}[0].cells[5].textContent")) == numbers[-1]
    page.run("document.getElementById('only-failed').click()")
    num_failed = sum(row.outcome != "ok" for row in result.requests)
    assert page.run(f"{shown}.length") == num_failed > 0


def test_the_pointer_reads_a_chart_out(show: Callable[[Result], Browser], result: Result) -> None:
    page = show(result)
    for name, wanted in (
        ("percentiles", "TTFT response"),
        ("ttft-time", "p99"),
        ("ttft-scatter", "request "),
    ):
        place = page.run(
            "const box = document.getElementById('chart-' + arguments[0]);"
            "box.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const area = box.getBoundingClientRect(), dots = box.querySelector('.mark.dots');"
            "const at = dots ? dots.getAttribute('d').match(/M(\\d+) (\\d+)/).slice(1) : [1000, 500];"
            "return [area.left + area.width * at[0] / 2000, area.top + area.height * at[1] / 1000]",
            name,
        )
        page.move_to(*place)
        text = page.run(
            "return document.querySelector('#chart-' + arguments[0] + ' .tip')?.textContent", name
        )
        assert text is not None, name
        assert wanted in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(
    scheme: str, show: Callable[[Result], Browser], result: Result
) -> None:
    page = show(result)
    page.emulate(prefers_color_scheme=scheme)
    ground = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128"
    assert page.run(ground) == (scheme == "dark")
    page.run("document.getElementById('theme').click()")
    assert page.run(ground) == (scheme == "light")


@pytest.mark.parametrize("width", [500, 760, 1280])
def test_no_page_is_wider_than_the_window(
    width: int, show: Callable[[Result], Browser], result: Result
) -> None:
    page = show(result)
    page.resize(width, 900)
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_without_a_script_every_row_and_chart_is_there(
    result: Result, browser: Browser, tmp_path: Path
) -> None:
    """In a frame of which no script may run."""
    page = escape(html.render(result).encode("utf-8", "backslashreplace").decode())
    (tmp_path / "frame.html").write_text(f'<iframe sandbox="allow-same-origin" srcdoc="{page}"></iframe>')
    browser.open(tmp_path / "frame.html")
    inside = "const page = document.querySelector('iframe').contentDocument; return "
    assert not browser.run(f"{inside}page.documentElement.classList.contains('js')")
    assert browser.run(f"{inside}page.querySelectorAll('#requests tbody tr').length") == 300
    assert browser.run(f"{inside}getComputedStyle(page.querySelector('.tools')).display") == "none"
    assert browser.run(f"{inside}page.querySelectorAll('.chart .mark').length") > 15


def test_text_has_enough_contrast(show: Callable[[Result], Browser], result: Result) -> None:
    """WCAG AA, 4.5 to 1, of every text colour on the card, light and dark."""
    page = show(result)
    for scheme in ("light", "dark"):
        page.emulate(prefers_color_scheme=scheme)
        worst = page.run(
            "const style = getComputedStyle(document.documentElement);"
            "const lum = (name) => { const hex = style.getPropertyValue(name).trim().slice(1);"
            " const [r, g, b] = [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)"
            "  .map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);"
            " return .2126 * r + .7152 * g + .0722 * b; };"
            "const ratio = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);"
            "const names = ['--ink', '--soft', '--faint', '--pass', '--fail', '--open', '--invalid'];"
            "return Math.min(...names.map(name => ratio(lum(name), lum('--card'))));"
        )
        assert worst >= 4.5
