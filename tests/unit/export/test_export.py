"""Tables of a run: what is in them, what they cost, what they refuse."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.result_folders import result_folder

from harness import export as exporting
from harness.cli import cli
from harness.export import ExportedRun, export
from harness.export._document import document
from harness.metrics import every_metric
from harness.window import Window
from reports import tables
from reports.tables import Column, Kind, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from harness.record import Record
    from harness.result_folder import ResultFolder
    from tests.conftest import MakeRecord

    Folder = Callable[..., ResultFolder]

MS = 1_000_000
FORMATS = tables.names()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The folder of a run with the given records."""

    def make(records: Iterable[Record], *, loop: str = "open", window: Window | None = None) -> ResultFolder:
        return result_folder(tmp_path / "run", records, loop=loop, window=window or Window())

    return make


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(folder: ResultFolder, name: str, format_name: str) -> list[dict[str, Any]]:
    """What a table holds, missing values as None or empty text."""
    path = folder.path / f"out.{format_name}"
    num_rows = export(ExportedRun(folder), name, format_name, path)
    if format_name == "csv":
        rows: list[dict[str, Any]] = list(read_csv(path))
    else:
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    assert len(rows) == num_rows
    assert not list(folder.path.glob("*.tmp"))
    return rows


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_request_with_its_instants_and_metrics(
    folder: Folder, make_record: MakeRecord, format_name: str
) -> None:
    made = folder([make_record(7, due=10, sent=12, chunks=(100, 110, 130))])
    (row,) = read(made, "requests", format_name)
    found = {
        name: float(row[name]) / MS for name in row if name.endswith("_ns") and row[name] not in ("", None)
    }
    assert found["due_ns"] == 10
    assert found["sent_ns"] == 12
    assert found["first_chunk_ns"] == 110
    assert found["last_chunk_ns"] == 140
    assert (found["response_ttft_ns"], found["service_ttft_ns"]) == (100, 98)
    assert (found["response_e2e_ns"], found["service_e2e_ns"]) == (130, 128)
    assert (found["tpot_ns"], found["stall_max_ns"], found["schedule_lag_ns"]) == (15, 20, 2)
    assert str(row["measured"]).lower() == "true"
    assert (str(row["index"]), row["outcome"], str(row["num_chunks"])) == ("7", "ok", "3")


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_failure_has_no_latency_and_its_reason(
    folder: Folder, make_record: MakeRecord, format_name: str
) -> None:
    made = folder([make_record(0, outcome="http_error", status=500, chunks=(), message="no luck")])
    (row,) = read(made, "requests", format_name)
    assert not row["response_ttft_ns"]
    assert not row["response_e2e_ns"]
    assert not row["first_chunk_ns"]
    assert (row["message"], str(row["status"])) == ("no luck", "500")


def test_a_closed_loop_has_one_basis_and_no_lag(folder: Folder, make_record: MakeRecord) -> None:
    (row,) = read(folder([make_record(0, due=0, sent=3)], loop="closed"), "requests", "csv")
    assert row["response_ttft_ns"] == row["service_ttft_ns"] == "97000000.0"
    assert row["schedule_lag_ns"] == ""


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_stamp(folder: Folder, make_record: MakeRecord, format_name: str) -> None:
    records = [
        make_record(1, due=5, sent=6, chunks=(100, 100, 130), answer_index=1),
        make_record(0, outcome="http_error", chunks=()),
    ]
    rows = read(folder(records), "chunks", format_name)
    assert [int(row["at_ns"]) // MS for row in rows] == [105, 105, 135]
    assert [int(row["since_sent_ns"]) // MS for row in rows] == [99, 99, 129]
    assert [row["gap_ns"] and int(row["gap_ns"]) // MS for row in rows][1:] == [0, 30] or format_name == "csv"
    assert rows[0]["gap_ns"] in ("", None)
    assert [str(row["is_answer"]).lower() for row in rows] == ["false", "true", "true"]
    assert {str(row["index"]) for row in rows} == {"1"}


def test_what_lies_outside_the_window_is_not_measured(folder: Folder, make_record: MakeRecord) -> None:
    records = [make_record(i, due=100 * i) for i in range(6)]
    records.append(make_record(6, due=300, outcome="cut"))
    made = folder(records, window=Window(start_ns=100 * MS, end_ns=400 * MS))
    assert [row["measured"] == "true" for row in read(made, "requests", "csv")] == [
        *(False, True, True, True, False, False),
        False,
    ]


def test_a_warm_up_by_number_is_found_from_the_journal(folder: Folder, make_record: MakeRecord) -> None:
    records = [make_record(i, due=100 * i) for i in range(6)]
    rows = read(folder(reversed(records), window=Window(warmup_requests=2)), "requests", "csv")
    assert [row["index"] for row in rows if row["measured"] == "true"] == ["5", "4", "3", "2"]


def test_R9_a_cell_is_no_formula(folder: Folder, make_record: MakeRecord) -> None:
    cells = ["=1+1", "+1", "-1", "@x", "\t=2", "plain", "=cmd|' /C calc'!A0"]
    records = [make_record(i, outcome="http_error", chunks=(), message=cell) for i, cell in enumerate(cells)]
    rows = read(folder(records), "requests", "csv")
    assert [row["message"] for row in rows] == [
        *("'=1+1", "'+1", "'-1", "'@x", "'=2", "plain", "'=cmd|' /C calc'!A0"),
    ]


@pytest.mark.parametrize("format_name", FORMATS)
def test_R9_hostile_text_can_be_read_again(folder: Folder, make_record: MakeRecord, format_name: str) -> None:
    hostile = "\x1b[31m\x00,\"'\n</script>\u2028"
    records = [make_record(0, outcome="http_error", chunks=(), message=hostile, detail=hostile)]
    (row,) = read(folder(records), "requests", format_name)
    assert "\x1b" not in row["message"]
    assert "\x00" not in row["message"]
    assert "</script>" in row["message"]


def test_parquet_says_what_it_is_of(folder: Folder, make_record: MakeRecord) -> None:
    from pyarrow import parquet

    made = folder([make_record(0)])
    export(ExportedRun(made), "requests", "parquet", made.path / "r.parquet")
    schema = parquet.read_schema(made.path / "r.parquet")
    assert schema.metadata[b"tokenpace.table"] == b"requests"
    assert schema.metadata[b"tokenpace.schema_version"] == b"1"
    assert b"counted from `due_ns`" in schema.field("response_ttft_ns").metadata[b"meaning"]
    assert str(schema.field("sent_ns").type) == "int64"


def test_without_pyarrow_there_is_a_remedy(
    folder: Folder, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    made = folder([make_record(0)])
    with pytest.raises(TableError, match=r"pip install 'tokenpace\[parquet\]'"):
        export(ExportedRun(made), "requests", "parquet", made.path / "r.parquet")
    assert not list(made.path.glob("r.parquet*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what", "tokens"], "no table 'tokens'; there are: chunks, requests, timeline, and histograms"),
        (["--format", "xlsx"], "no format 'xlsx'; there are: csv, parquet"),
        (["--what", "timeline"], "make it with: tokenpace report"),
    ],
)
def test_what_it_cannot_do_is_one_clear_message(
    folder: Folder,
    make_record: MakeRecord,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = folder([make_record(0)])
    before = sorted(made.path.iterdir())
    with pytest.raises(SystemExit) as ended:
        cli.main(["export", str(made.path), *arguments], standalone_mode=False)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert sorted(made.path.iterdir()) == before


def test_the_command_writes_each_table(
    folder: Folder, make_record: MakeRecord, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = folder([make_record(i) for i in range(3)])
    out = tmp_path / "elsewhere"
    cli.main(
        ["export", str(made.path), "--what", "requests", "--what", "chunks", "--output", str(out)],
        standalone_mode=False,
    )
    assert sorted(path.name for path in out.iterdir()) == ["chunks.csv", "requests.csv"]
    assert "requests.csv: 3 rows" in capsys.readouterr().out


def test_every_metric_of_a_request_is_a_column() -> None:
    names = {column.name for column in exporting.table("requests").columns()}
    for metric in every_metric():
        if type(metric).__mro__[1].__name__ == "RequestMetric" and metric.unit == "ns":
            bases = ("response_", "service_") if metric.has_bases else ("",)
            assert {f"{basis}{metric.name}_ns" for basis in bases} <= names


@pytest.mark.parametrize("name", exporting.names())
def test_a_table_keeps_its_contract(name: str) -> None:
    chosen = exporting.table(name)
    columns = chosen.columns()
    assert chosen.MEANING.endswith(".")
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.meaning.endswith(".") and isinstance(column.kind, Kind) for column in columns)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_keeps_its_contract(name: str, tmp_path: Path) -> None:
    columns = [Column(kind.name.lower(), kind, "Any.") for kind in Kind]
    form = tables.get(name)
    rows = [(1, 1.5, "a", True), (None, None, None, None)]
    assert form.write(tmp_path / "x", columns, iter(rows), {"a": "b"}) == 2
    assert form.write(tmp_path / "none", columns, iter(()), {}) == 0
    assert form.SUFFIX.startswith(".")
    with pytest.raises(FileExistsError):
        form.write(tmp_path / "x", columns, iter(rows), {})


def test_the_documentation_is_current() -> None:
    """Made anew: ``python -c "from harness.export._document import *; print(document(), end='')"``."""
    path = Path(__file__).parents[3] / "docs" / "export.md"
    assert path.read_text("utf-8") == document()


MEMORY = """
import sys
from pathlib import Path
from harness.export import ExportedRun, export
from harness.result_folder import ResultFolder
run = ExportedRun(ResultFolder.open(Path(sys.argv[1])))
for table, form in (("requests", "csv"), ("chunks", "parquet")):
    export(run, table, form, Path(sys.argv[1]) / f"{table}.out")
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def test_R8_memory_does_not_grow_with_the_rows(folder: Folder, make_record: MakeRecord) -> None:
    """1.2 million rows more, less than 80 MiB more: an allocator's whims. Held in memory they take 300."""
    peaks = []
    for num in (3_000, 30_000):
        chunks = tuple(range(100, 140))
        made = folder(make_record(i, due=i, chunks=chunks) for i in range(num))
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, made.path], capture_output=True, text=True, check=True, timeout=120
        )
        peaks.append(int(done.stdout))
        for path in made.path.iterdir():
            path.unlink()
        made.path.rmdir()
    assert peaks[1] - peaks[0] < 80 * 1024, peaks
