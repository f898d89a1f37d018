"""All that the page shows, in words: those of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from harness.locust.web.charts import charts
from reports import headline, server_view, view
from reports.formats.html import tables
from reports.formats.html.page import SIGNS
from reports.text import printable
from reports.units import MISSING, duration, quantity

if TYPE_CHECKING:
    from pathlib import Path

    from harness.load_status import LoadStatus
    from harness.locust.web.follower import Look
    from reports.formats.html.tables import Tile
    from reports.result import Result

FILES: Final = {
    "report.html": "Report",
    "histograms.hlog": "Histograms (HDR log)",
    "journal.jsonl": "Journal",
    "result.json": "Result",
}
_MAX_NOTES: Final = 12


def nothing_yet() -> dict[str, Any]:
    """Before the first run."""
    return _words("idle", "READY", "No run yet. Start one on Locust's page.")


def starting() -> dict[str, Any]:
    """Before the first request of a run."""
    return _words("starting", "STARTING", "The server is asked for its models; the load begins at once.")


def refused(why: str) -> dict[str, Any]:
    """There is no run."""
    return _words("refused", "NO RUN", why)


def under_way(look: Look) -> dict[str, Any]:
    """A run that goes on."""
    result, status = look.result, look.status
    then = "the engine is busy, or makes the result" if look.is_silent else "verdicts come when it is over"
    sentence = f"{duration(round(status.elapsed_ns / 1e9, 1))} of load; {then}."
    return {
        **_words("running", "RUNNING", sentence),
        **_figures(result, is_over=False),
        "tiles": [_tile(tile) for tile in (_load_tile(status), *_tiles(result))],
        "hint": "The charts hold the requests that have ended: those in flight join them when they end.",
    }


def concluded(result: Result, folder: Path, fault: str | None) -> dict[str, Any]:
    """A run that is over."""
    sentence = headline.sentence(result)
    causes = [cause for cause in result.causes if cause != sentence]
    return {
        **_words("ended", headline.status(result), sentence),
        **_figures(result, is_over=True),
        "causes": [*causes, *([fault] if fault else [])],
        "tiles": [_tile(tile) for tile in _tiles(result)],
        "rules": [_rule(view.rule_line(rule)) for rule in result.rules],
        "notes": [printable(note) for note in result.notes[:_MAX_NOTES]],
        "files": [(name, title) for name, title in FILES.items() if (folder / name).is_file()],
        "folder": printable(str(folder)),
    }


def latency_rows(result: Result, name: str) -> list[dict[str, str]]:
    """A metric of a result by basis, a percentile a column."""
    shown = view.columns(result)
    return [
        {
            "basis": line.basis or "of each token",
            "unit": line.unit,
            "n": line.n,
            **{f"p{p:g}": value for p, value in zip(shown, line.percentiles, strict=True)},
            "max": line.maximum,
            "mean": line.mean,
        }
        for line in view.metric_lines(result, shown)
        if line.name == name and not line.reason
    ]


def _words(state: str, word: str, sentence: str) -> dict[str, Any]:
    return {"state": state, "word": word, "sentence": printable(sentence)}


def _figures(result: Result, *, is_over: bool) -> dict[str, Any]:
    shown = view.columns(result)
    lines = [line for line in view.metric_lines(result, shown) if not line.reason]
    return {
        "facts": _facts(result),
        "charts": charts(result, is_over=is_over),
        "columns": [f"p{p:g}" for p in shown],
        "metrics": [
            (line.title, line.basis, line.unit, line.n, *line.percentiles, line.maximum, line.mean)
            for line in lines
        ],
        "rates": [(line.title, line.value, line.detail) for line in view.rate_lines(result)],
        "errors": [
            (view.error_label(error), f"{error.count:,}", printable(view.error_sample(error)))
            for error in result.errors
        ],
        "health": list(tables.health(result)),
        "server": list(server_view.figures(result.server)) if result.server else [],
        "samples": [(printable(sample.prompt), printable(sample.answer)) for sample in result.samples],
    }


def _facts(result: Result) -> list[tuple[str, str]]:
    facts = (
        ("scenario", result.scenario_name),
        ("model", result.model),
        ("server", result.base_url),
        ("endpoint", result.endpoint),
        ("loop", result.loop),
        ("seed", str(result.seed)),
        ("started", result.started_at),
    )
    return [(name, printable(value)) for name, value in facts]


def _tiles(result: Result) -> list[Tile]:
    """The report's, and goodput where objectives say what is good."""
    goodput, found = result.rate("goodput"), list(tables.tiles(result))
    if goodput is not None and goodput.value is not None:
        number, _, unit = quantity(goodput.value, goodput.unit, 3).partition(" ")
        attained = result.rate("attainment")
        share = MISSING if attained is None else quantity(attained.value, attained.unit, 3)
        found.append(tables.Tile("Goodput", number, unit, f"{share} met all objectives"))
    return found


def _load_tile(status: LoadStatus) -> Tile:
    live = status.live
    ended = f"{live.num_ok:,} ok, {live.num_failed:,} failed"
    return tables.Tile("In flight", f"{status.in_flight:,}", f"of {status.num_sent:,} sent", ended)


def _tile(tile: Tile) -> tuple[str, str, str, str]:
    return tile.name, tile.value, tile.unit, tile.sub


def _rule(line: view.RuleLine) -> dict[str, str]:
    return {
        "verdict": line.verdict.value,
        "sign": SIGNS[line.verdict.value],
        "rule": line.rule,
        "observed": line.observed,
        "limit": line.limit,
        "margin": line.margin,
        "n": line.n,
        "interval": line.interval,
        "message": printable(line.message),
    }
