"""The result as Markdown, for a job summary or a comment on a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reports import headline, server_view, turns_view, view
from reports.text import one_line
from reports.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reports.result import Result

FILE_NAME = "summary.md"

_SIGNS = {
    "PASS": "✅",
    "FAIL": "❌",
    "INCONCLUSIVE": "❔",
    "INVALID": "⛔",
    "INTERRUPTED": "⏹️",
    "NOT JUDGED": "▫️",
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~@$&])")


def render(result: Result) -> str:
    """Verdict, rules, metrics, rates, errors, remarks."""
    parts = (
        _head(result),
        _rules(result),
        _metrics(result),
        _rates(result),
        _turns(result),
        _errors(result),
        _remarks(result),
    )
    return "\n\n".join(part for part in ("\n".join(lines) for lines in parts) if part) + "\n"


def escaped(text: str) -> str:
    """``text`` on one line, shown literally and never as markup, mention or link."""
    return _SPECIAL.sub(r"\\\1", one_line(text)).replace("\\@", "\\@\u200b")


def code(text: str) -> str:
    """``text`` on one line as a code span."""
    return "`" + one_line(text).replace("`", "'") + "`"


def _head(result: Result) -> Iterator[str]:
    word = headline.status(result)
    yield f"## {_SIGNS[word]} {word}: {escaped(result.scenario_name)}"
    yield ""
    yield escaped(headline.sentence(result))
    yield ""
    yield (
        f"{code(result.model)} at {code(result.base_url)}: {result.num_requests:,} requests "
        f"in {duration(result.duration_s)}, {headline.window(result)}."
    )


def _rules(result: Result) -> Iterator[str]:
    lines = [view.rule_line(rule) for rule in result.rules]
    rows = (
        (
            f"{_SIGNS[line.verdict]} {line.verdict}",
            escaped(line.rule),
            line.observed,
            line.limit,
            escaped(line.margin),
            line.n,
            line.interval,
        )
        for line in lines
    )
    yield from _table(("verdict", "objective"), ("observed", "limit", "margin", "n", "interval"), rows)
    for line in lines:
        if line.verdict != "PASS" and line.message:
            yield f"\n- **{escaped(line.rule)}**: {escaped(line.message)}"


def _metrics(result: Result) -> Iterator[str]:
    shown = view.columns(result)
    lines = view.metric_lines(result, shown)
    rows = (
        (
            escaped(f"{line.name} {line.basis}".strip()),
            line.unit,
            line.n,
            *line.percentiles,
            line.maximum,
            line.client_error,
        )
        for line in lines
        if not line.reason
    )
    numbers = ("n", *(f"p{p:g}" for p in shown), "max", "client error")
    yield from _table(("metric", "unit"), numbers, rows)
    for line in lines:
        if line.reason:
            yield f"\n{escaped(line.name)}: {escaped(line.reason)}."


def _rates(result: Result) -> Iterator[str]:
    rows = ((escaped(line.name), line.value, escaped(line.detail)) for line in view.rate_lines(result))
    yield from _table(("rate",), ("value", "from"), rows)


def _turns(result: Result) -> Iterator[str]:
    rows = ((line.turn, *line.counts, *line.times) for line in turns_view.lines(result.conversations))
    yield from _table(("turn",), (*turns_view.COUNTS, *turns_view.TIMES), rows)


def _errors(result: Result) -> Iterator[str]:
    rows = (
        (escaped(view.error_label(error)), escaped(view.error_sample(error)), f"{error.count:,}")
        for error in result.errors
    )
    yield from _table(("error", "sample"), ("count",), rows)


def _remarks(result: Result) -> Iterator[str]:
    yield from (f"- **cause:** {escaped(cause)}" for cause in result.causes)
    yield from (f"- {escaped(note)}" for note in result.notes)
    yield from (f"- **server:** {escaped(line)}" for line in server_view.summary_lines(result.server))


def _table(
    words: tuple[str, ...], numbers: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield "| " + " | ".join((*words, *numbers)) + " |"
        yield "|" + " --- |" * len(words) + " ---: |" * len(numbers)
        yield from ("| " + " | ".join(row) + " |" for row in rows)
