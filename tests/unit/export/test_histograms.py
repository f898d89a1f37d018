"""Histograms of a run as files for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.result_folders import result_folder, ten_a_second

from harness.cli import cli
from harness.run import report
from reports import distributions
from reports.hdr_codec import encode
from reports.hdr_log import read_log

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result as Done

    from harness.result_folder import ResultFolder
    from reports.result import Result
    from tests.conftest import MakeRecord

NUM = 200


@pytest.fixture
def folder(tmp_path: Path, make_record: MakeRecord) -> ResultFolder:
    """Each request sent 3 ms late; the first token of request i comes 100 + i ms after its due time."""
    records = (
        make_record(i, due=100 * i, sent=100 * i + 3, chunks=(100 + i, 110 + i, 120 + i)) for i in range(NUM)
    )
    return result_folder(tmp_path / "run", records, scenario=ten_a_second(NUM))


@pytest.fixture
def result(folder: ResultFolder) -> Result:
    """Of that run, which leaves its histograms."""
    return report(folder, ()).result


def exported(folder: ResultFolder, *arguments: str) -> Done:
    return CliRunner().invoke(cli, ["export", str(folder.path), "--what", "histograms", *arguments])


def rows(path: Path) -> list[tuple[float, float, int]]:
    """Value, share and count of each line of a percentile text."""
    lines = [line.split() for line in path.read_text().splitlines()[2:] if not line.startswith("#")]
    return [(float(value), float(share), int(count)) for value, share, count, *_ in lines]


@pytest.mark.parametrize("name", ["ttft", "service_ttft", "tpot"])
def test_percentile_text_agrees_with_the_report(folder: ResultFolder, result: Result, name: str) -> None:
    done = exported(folder, "--metric", name)
    assert done.exit_code == 0, done.output
    assert f"{name}.hgrm: {NUM} samples" in done.stdout
    found = rows(folder.path / f"{name}.hgrm")
    basis = {"ttft": "response", "service_ttft": "service", "tpot": None}[name]
    metric = name.removeprefix("service_")
    summary = next(each for each in result.metrics if (each.name, each.basis) == (metric, basis))
    median, largest = summary.percentile(50), summary.maximum
    assert median is not None
    assert largest is not None
    half = next(value for value, share, _ in found if share >= 0.5)
    assert half == pytest.approx(median.value / 1e6, rel=1e-3)
    assert found[-1] == pytest.approx((largest / 1e6, 1.0, NUM), rel=1e-3)


def test_what_is_no_time_is_in_its_own_unit(folder: ResultFolder, result: Result) -> None:
    assert exported(folder, "--metric", "output_tokens").exit_code == 0
    assert {value for value, _, _ in rows(folder.path / "output_tokens.hgrm")} == {3.0}
    assert exported(folder, "--metric", "output_rate_per_user").exit_code == 0
    shown = next(each for each in result.metrics if each.name == "output_rate_per_user").maximum
    assert rows(folder.path / "output_rate_per_user.hgrm")[-1][0] == pytest.approx(shown, rel=1e-3)


@pytest.mark.usefixtures("result")
def test_a_log_of_one_series_holds_what_the_log_of_all_does(folder: ResultFolder) -> None:
    done = exported(folder, "--format", "hdrlog", "--metric", "ttft", "--output", str(folder.path / "out"))
    assert done.exit_code == 0, done.output
    (path,) = (folder.path / "out").iterdir()
    assert path.name == "ttft.hlog"
    whole, alone = read_log(folder.histograms_path), read_log(path)
    assert alone.base_time_s == whole.base_time_s
    (line,), (original,) = alone.intervals, whole.tagged("ttft").intervals
    assert line.tag is None
    assert encode(line.histogram) == encode(original.histogram)
    assert (line.start_s, line.length_s) == (original.start_s, original.length_s)
    assert line.maximum == pytest.approx(original.maximum, rel=1e-3)


@pytest.mark.usefixtures("result")
@pytest.mark.parametrize("form", distributions.names())
def test_all_series_by_default(folder: ResultFolder, form: str) -> None:
    before = folder.histograms_path.read_bytes()
    assert exported(folder, "--format", form).exit_code == 0
    tags = read_log(folder.histograms_path).tags()
    suffix = distributions.get(form).SUFFIX
    written = {path.stem for path in folder.path.glob(f"*{suffix}")} - {"histograms"}
    assert written == tags
    assert {"ttft", "service_ttft", "e2e", "itl"} <= written
    assert folder.histograms_path.read_bytes() == before


@pytest.mark.usefixtures("result")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "latency"], "no histogram of 'latency'; there are: "),
        (["--format", "csv"], "no format 'csv' for histograms; there are: hdrlog, hgrm"),
    ],
)
def test_what_there_is_not_is_named(folder: ResultFolder, arguments: list[str], message: str) -> None:
    done = exported(folder, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_metric_without_histograms_is_a_slip(folder: ResultFolder) -> None:
    done = CliRunner().invoke(cli, ["export", str(folder.path), "--metric", "ttft"])
    assert done.exit_code == 2
    assert "add --what histograms" in done.stderr


@pytest.mark.parametrize("text", [None, "nonsense\n"])
def test_without_a_log_there_is_a_remedy(folder: ResultFolder, text: str | None) -> None:
    if text is not None:
        folder.histograms_path.write_text(text)
    done = exported(folder)
    assert done.exit_code == 2
    assert "make it with: tokenpace report" in done.stderr
