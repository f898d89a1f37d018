"""``tokenpace compare`` and ``tokenpace baseline`` as a user calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from harness.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from click.testing import Result

    from tests.unit.comparison.conftest import MakeRun


def tokenpace(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_exit_codes(make_run: MakeRun) -> None:
    """0 no regression, 1 regression, 2 usage, 3 undecided, 4 invalid."""
    a = make_run("a", noise=1)
    same, slower = make_run("same", noise=2), make_run("slower", noise=3, ttft_ms=150)
    other, short = make_run("other", noise=4, model="n"), make_run("short", noise=5, num=40)
    metric = ("--metric", "ttft p50")
    assert tokenpace("compare", a, same, *metric, "--allow", "20%").exit_code == 0
    assert tokenpace("compare", a, slower, *metric).exit_code == 1
    assert tokenpace("compare", a, slower, "--metric", "tftt p50").exit_code == 2
    assert tokenpace("compare", a, "nowhere").exit_code == 2
    assert tokenpace("compare", a, slower, *metric, "--confidence", 95).exit_code == 2
    assert tokenpace("compare", a, short, *metric, "--allow", "0%").exit_code == 3
    assert tokenpace("compare", a, other, *metric).exit_code == 4


def test_all_files_are_written(make_run: MakeRun, tmp_path: Path) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2)
    files = {name: tmp_path / "out" / f"c.{name}" for name in ("html", "markdown", "json")}
    options = [each for name, path in files.items() for each in (f"--{name}", path)]
    done = tokenpace("compare", a, b, "--metric", "ttft p50", *options, "-q")
    assert done.output == ""
    assert all(path.stat().st_size > 500 for path in files.values())


def test_a_baseline_is_saved_listed_and_compared(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a, b = make_run("a", noise=1), make_run("b", noise=2, ttft_ms=150)
    assert "keep one with" in tokenpace("baseline", "list").stderr
    saved = tokenpace("baseline", "save", "main", a)
    assert (saved.exit_code, saved.stdout.split(":")[0]) == (0, "wrote .tokenpace/baselines/main")
    assert "probe on m, 1 run of 300 requests" in tokenpace("baseline", "list").stdout
    assert tokenpace("compare", "main", b, "--metric", "ttft p50").exit_code == 1
    refused = tokenpace("compare", "man", b)
    assert refused.exit_code == 2
    assert "baselines: main" in refused.stderr
