"""What a terminal shows: wide, narrow, coloured, plain, and while the run runs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from reports.formats import console
from reports.progress import LiveProgress, PlainProgress, SilentProgress, Snapshot, line, progress

if TYPE_CHECKING:
    from reports.result import Result


def printed(result: Result, width: int, **options: object) -> str:
    file = io.StringIO()
    console.show(result, Console(file=file, width=width, **options))  # type: ignore[arg-type]  # options of several types
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 70, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_no_verdict_is_lost(result: Result, width: int) -> None:
    lines = printed(result, width).splitlines()
    assert max(map(len, lines)) <= width
    verdicts = [row.split()[0] for row in lines if row.startswith((" PASS", " INCONCLUSIVE"))]
    assert len(verdicts) == 4


def test_colour_only_where_it_is_wanted(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in printed(result, 100, force_terminal=True, color_system="truecolor")
    assert "\x1b[" not in printed(result, 100)
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = printed(result, 100, force_terminal=True, color_system="truecolor")
    assert "\x1b[38" not in coloured
    assert "\x1b[48" not in coloured


def test_square_brackets_in_messages_are_no_styling(result: Result) -> None:
    assert "[bold]" in printed(_with_note(result, "[bold]x[/nonsense]"), 100)


def _with_note(result: Result, note: str) -> Result:
    return msgspec.structs.replace(result, notes=(note,))


SNAPSHOT = Snapshot(
    elapsed_s=12.34,
    duration_s=60.0,
    sent=180,
    in_flight=7,
    ok=170,
    failed=3,
    ttft_p50=84e6,
    ttft_p95=210e6,
    tpot_p50=18.4e6,
    tokens_per_s=1_312.2,
    loop_lag_p99=240_000,
)


def test_a_plain_line_says_all() -> None:
    text = line(SNAPSHOT)
    for part in ("12.3 s of 60 s", "180 sent", "7 in flight", "3 failed", "TTFT p50 84 ms", "1312 tokens/s"):
        assert part in text
    assert "TTFT" not in line(Snapshot(elapsed_s=0.0))


def test_plain_progress_prints_every_few_seconds_and_no_more() -> None:
    file = io.StringIO()
    with PlainProgress(Console(file=file, width=40), interval_s=5.0) as shown:
        for tenth in range(121):
            shown.update(Snapshot(elapsed_s=tenth / 10))
    lines = file.getvalue().splitlines()
    assert [text.split(" s ")[0] for text in lines] == ["0", "5", "10"]


def test_live_progress_leaves_the_terminal_clean() -> None:
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, width=80)
    with progress(terminal) as shown:
        assert isinstance(shown, LiveProgress)
        for _ in range(50):
            shown.update(SNAPSHOT)
    text = file.getvalue()
    assert "170 ok" in text
    assert text.count("170 ok") <= 3, "redrawn at most four times a second"
    assert "\x1b[?25h" in text, "the cursor is shown again"


def test_progress_suits_the_console() -> None:
    assert isinstance(progress(Console(file=io.StringIO())), PlainProgress)
    assert type(progress(Console(file=io.StringIO()), quiet=True)) is SilentProgress


@pytest.mark.parametrize(
    ("snapshot", "share"),
    [
        (Snapshot(elapsed_s=15, duration_s=60), 0.25),
        (Snapshot(elapsed_s=70, duration_s=60), 1.0),
        (Snapshot(elapsed_s=1, total=10, ok=4, failed=1), 0.5),
        (Snapshot(elapsed_s=1), None),
    ],
)
def test_share_done(snapshot: Snapshot, share: float | None) -> None:
    assert snapshot.share_done == share
