"""The result on a terminal: verdict, rules, metrics, rates, errors, and what the reader must know.

Colours and boxes are rich's business: none without a terminal or with ``NO_COLOR``. As a report it
is the same in plain text.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from reports import headline, server_view, turns_view, view
from reports.objectives_table import objectives_table
from reports.terminal import STYLES, plain_table
from reports.text import one_line
from reports.units import duration, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.result import ClientHealth, Result

FILE_NAME = "summary.txt"

_WIDE = 108


def render(result: Result) -> str:
    """The summary as plain text, 110 columns."""
    file = io.StringIO()
    Console(file=file, width=110, color_system=None, force_terminal=False).print(renderable(result, 110))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def show(result: Result, console: Console | None = None) -> None:
    """Print the summary."""
    console = console or Console()
    console.print(renderable(result, console.width))


def renderable(result: Result, width: int = 110) -> RenderableType:
    """The summary for a terminal of that width."""
    parts = (
        _head(result),
        _rules(result, width),
        _metrics(result, width),
        _rates(result),
        _turns(result),
        _errors(result),
        _remarks(result),
    )
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts if part is not None))


def _head(result: Result) -> RenderableType:
    word = headline.status(result)
    line = Text.assemble((f" {word} ", STYLES[word]), "  ", (one_line(headline.sentence(result)), "bold"))
    about = (
        f"{result.scenario_name} · {result.model} · {result.base_url} · "
        f"{result.num_requests:,} requests in {duration(result.duration_s)}"
    )
    return Group(
        line,
        Text(one_line(about), style="dim"),
        Text(f"{headline.window(result)}; {headline.loop(result)}", style="dim"),
    )


def _rules(result: Result, width: int) -> RenderableType | None:
    if not result.rules:
        return None
    return Group(objectives_table(result.rules, width), *_rule_messages(result))


def _rule_messages(result: Result) -> Iterator[Text]:
    for rule in result.rules:
        if rule.message and rule.verdict.value != "PASS":
            yield Text.assemble(" ", (f"{rule.rule}: ", "bold"), one_line(rule.message))


def _metrics(result: Result, width: int) -> RenderableType | None:
    shown = view.columns(result)
    if width < _WIDE:
        shown = tuple(p for p in shown if p in (50.0, 99.0))
    lines = view.metric_lines(result, shown)
    numbers = ("n", *(f"p{p:g}" for p in shown), "max", "client ±")
    table = plain_table("Metrics", "metric", "unit", numbers=numbers)
    table.columns[0].no_wrap = table.columns[1].no_wrap = width >= _WIDE
    for line in lines:
        if not line.reason:
            cells = (line.unit, line.n, *line.percentiles, line.maximum, line.client_error)
            table.add_row(f"{line.name} {line.basis}".strip(), *cells)
    absent = [Text(f" {line.name}: {one_line(line.reason)}", style="dim") for line in lines if line.reason]
    return Group(*([table] if table.row_count else []), *absent) if lines else None


def _rates(result: Result) -> RenderableType | None:
    if not result.rates:
        return None
    table = plain_table("Rates", "rate", numbers=("value",))
    table.add_column("from", style="dim")
    for line in view.rate_lines(result):
        table.add_row(line.name, line.value, Text(one_line(line.detail)))
    return table


def _turns(result: Result) -> RenderableType | None:
    lines = list(turns_view.lines(result.conversations))
    if not lines:
        return None
    table = plain_table(
        turns_view.title(result.conversations), "turn", numbers=(*turns_view.COUNTS, *turns_view.TIMES)
    )
    for line in lines:
        table.add_row(line.turn, *line.counts, *line.times)
    return table


def _errors(result: Result) -> RenderableType | None:
    if not result.errors:
        return None
    table = plain_table("Errors", "outcome", numbers=("count",))
    table.add_column("sample", overflow="fold")
    for error in result.errors:
        table.add_row(
            Text(view.error_label(error)), f"{error.count:,}", Text(one_line(view.error_sample(error)))
        )
    return table


def _remarks(result: Result) -> RenderableType | None:
    lines = [Text.assemble((" cause  ", "bold"), one_line(cause)) for cause in result.causes]
    lines += [Text.assemble((" note   ", "dim"), one_line(note)) for note in result.notes]
    lines += [
        Text.assemble((" server ", "dim"), one_line(line))
        for line in server_view.summary_lines(result.server)
    ]
    lines.append(Text.assemble((" client ", "dim"), _client(result)))
    return Group(*lines)


def _client(result: Result) -> str:
    health = result.health
    parts = [f"event-loop lag p99 {quantity(health.loop_lag_p99, 'ns', 2)}"]
    if health.reader_lag_p99 is not None:
        parts.append(f"reading thread's {quantity(health.reader_lag_p99, 'ns', 2)}")
    if health.receive_delay_p99 is not None:
        parts.append(f"stamped after the kernel by p99 {quantity(health.receive_delay_p99, 'ns', 2)}")
    if health.schedule_lag_p99 is not None:
        parts.append(f"sent late by p99 {quantity(health.schedule_lag_p99, 'ns', 2)}, connecting left out")
    parts.append(f"{quantity(health.cpu_share, '', 2)} cores used{_of_workers(health)}")
    parts.append(f"{health.coalesced_chunks:,} of {health.num_chunks:,} chunks shared a read")
    return ", ".join(parts)


def _of_workers(health: ClientHealth) -> str:
    if not health.workers:
        return ""
    shares = ", ".join(quantity(worker.cpu_share, "", 2) for worker in health.workers)
    return f" by {len(health.workers)} workers ({shares})"
