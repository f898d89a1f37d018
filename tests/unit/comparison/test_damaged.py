"""Runs and baselines whose files are not as they were left, and runs that have no values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.comparison.baselines import Baselines
from harness.comparison.comparing import compare
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import figures_of
from harness.comparison.sources import side_of
from harness.result_folder import ResultFolder
from reports.comparison.document import Change

if TYPE_CHECKING:
    from click.testing import Result

    from tests.unit.comparison.conftest import MakeRun


def tokenpace(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def cut_run(make_run: MakeRun) -> ResultFolder:
    """A run whose end says that it wrote 300 requests."""
    folder = ResultFolder(make_run("cut", noise=2))
    folder.save(msgspec.structs.replace(folder.checkpoint(), num_records=300))
    return folder


def test_a_whole_journal_is_compared(make_run: MakeRun, cut_run: ResultFolder) -> None:
    assert tokenpace("compare", make_run("a"), cut_run.path, "--metric", "ttft p50", "-q").exit_code in (0, 3)


@pytest.mark.parametrize("num_bytes", [150, 20_000])
def test_a_cut_journal_is_no_run_to_compare(make_run: MakeRun, cut_run: ResultFolder, num_bytes: int) -> None:
    os.truncate(cut_run.journal_path, num_bytes)
    done = tokenpace("compare", make_run("a"), cut_run.path, "--metric", "ttft p50")
    assert done.exit_code == 4
    words = " ".join(done.stdout.split())
    assert "the run wrote 300: it was changed or damaged since" in words
    quiet = tokenpace("compare", make_run("b", noise=3), cut_run.path, "--metric", "ttft p50", "-q")
    assert (quiet.exit_code, quiet.stdout) == (4, "")
    assert "the run wrote 300" in quiet.stderr
    saved = tokenpace("baseline", "save", "main", cut_run.path, "--folder", cut_run.path.parent / "kept")
    assert saved.exit_code == 2
    assert "cut is no baseline: the last line of the journal is cut off" in saved.stderr


def test_lines_that_are_gone_are_missed(make_run: MakeRun, cut_run: ResultFolder) -> None:
    lines = cut_run.journal_path.read_bytes().splitlines(keepends=True)
    cut_run.journal_path.write_bytes(b"".join(lines[:225]))
    done = compare(side_of(str(make_run("a")), Baselines()), side_of(str(cut_run.path), Baselines()))
    assert done.verdict is Change.INVALID
    assert "holds 225 requests where the run wrote 300" in done.causes[0]


@pytest.mark.parametrize("num_others", [1, 2])
def test_a_run_without_values_leaves_no_spread_and_no_warning(make_run: MakeRun, num_others: int) -> None:
    """Of two runs one has none, so that leaving out the other leaves nothing."""
    a = [make_run("a", noise=1), make_run("none", noise=2, failing=300)]
    b = [make_run(f"b{i}", noise=3 + i) for i in range(num_others)]
    store = Baselines()
    sides = [side_of(",".join(map(str, side)), store) for side in (a, b)]
    trusted = [
        msgspec.structs.replace(
            side,
            runs=tuple(
                msgspec.structs.replace(run, identity=msgspec.structs.replace(run.identity, faults=()))
                for run in side.runs
            ),
        )
        for side in sides
    ]
    done = compare(*trusted, figures=figures_of(["ttft p50"]))
    (figure,) = done.figures
    assert figure.verdict is Change.UNDECIDED
    assert "too few of its 2 runs have values" in figure.message


@pytest.fixture
def kept(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three baselines, beside the folders of the runs; the middle one is whole."""
    monkeypatch.chdir(tmp_path)
    run = make_run("run")
    store = Baselines()
    for name in ("alpha", "beta", "gamma"):
        store.save(name, side_of(str(run), store))
    return store.folder


@pytest.mark.parametrize("file", ["sample.bin", "baseline.json"])
@pytest.mark.parametrize("damage", [None, b"", b"x"])
def test_a_damaged_baseline_doesn_t_hide_the_others(kept: Path, file: str, damage: bytes | None) -> None:
    for name in ("alpha", "gamma"):
        path = kept / name / file
        path.unlink() if damage is None else path.write_bytes(damage)
    done = tokenpace("baseline", "list")
    assert done.exit_code == 2
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["beta"]
    assert [line.count(file) for line in done.stderr.splitlines()] == [1, 1]
    word = "can't be read" if damage is None else "is damaged"
    assert done.stderr.count(word) == 2


def test_a_baseline_without_its_sample_is_a_damaged_one(kept: Path) -> None:
    (kept / "alpha" / "sample.bin").unlink()
    with pytest.raises(ComparisonError, match=r"sample.bin can't be read .*; save the baseline again"):
        side_of("alpha", Baselines())


def test_a_name_stands_for_one_thing(kept: Path, make_run: MakeRun) -> None:
    refused = tokenpace("baseline", "save", "run", "run")
    assert refused.exit_code == 2
    assert "'run' is a result folder here" in refused.stderr
    make_run("alpha", noise=9)
    with pytest.raises(ComparisonError, match=r"write '\./alpha' for the folder"):
        side_of("alpha", Baselines())
    assert side_of("./alpha", Baselines()).runs[0].identity.started_at.endswith("09")
    Path("beta").mkdir()
    assert side_of("beta", Baselines()).label == "beta"
    assert kept.is_dir()


@pytest.mark.parametrize("text", ["", " ", ","])
def test_an_empty_name_is_not_the_folder_that_one_stands_in(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(make_run("a"))
    with pytest.raises(ComparisonError, match="an empty name"):
        side_of(text, Baselines())


def test_a_file_can_t_be_a_folder(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2)
    monkeypatch.chdir(a.parent)
    for name in ("html", "markdown", "json"):
        done = tokenpace("compare", a, b, "--metric", "ttft p50", "-q", f"--{name}", ".")
        assert done.exit_code == 2
        assert f"Is a directory); give another file with --{name}" in done.stderr
