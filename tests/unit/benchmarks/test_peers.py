"""Every client of the comparison: its file is found, its command names the load, its own figures are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import environments, peers
from benchmarks.peers import Load, NotInstalledError, Quantiles

if TYPE_CHECKING:
    from pathlib import Path

TTFT, GAP = Quantiles(51.0, 59.0), Quantiles(10.0, 14.0)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return Load("http://127.0.0.1:1", "timetable", 24, 96, tmp_path, tmp_path / "tokenizer", streams=7)


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", peers.names())
def test_the_command_states_the_load(name: str, load: Load, tmp_path: Path) -> None:
    command = peers.find(name).command(tmp_path / "bin" / "python", load)
    said = " ".join([*command, *(path.read_text() for path in tmp_path.iterdir())])
    assert command[0].startswith(str(tmp_path / "bin"))
    for part in (load.url, load.model, "24", "96", "7"):
        assert part in said


@pytest.mark.parametrize("name", [name for name in peers.names() if peers.find(name).open_loop])
def test_the_command_states_the_rate(name: str, load: Load, tmp_path: Path) -> None:
    in_time = load._replace(streams=None, rate=13.5)
    command = peers.find(name).command(tmp_path / "bin" / "python", in_time)
    assert "13.5" in " ".join([*command, *(path.read_text() for path in tmp_path.iterdir())])


@pytest.mark.parametrize("name", peers.names())
def test_a_client_that_is_not_there_is_told_with_the_remedy(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        NotInstalledError, match=rf"^{name} is not installed; (python|pip) .*--python {name}="
    ):
        environments.python_of(name, peers.find(name), {name: tmp_path})


def test_an_unknown_client_is_refused_with_those_there_are() -> None:
    with pytest.raises(SystemExit, match=r"no client wrk.*tokenpace"):
        peers.find("wrk")


def test_aiperf(load: Load) -> None:
    quantity = {"unit": "ms", "avg": 52.0, "p50": 51.0, "p99": 59.0}
    gaps = {"unit": "ms", "p50": 10.0, "p99": 14.0}
    found = {
        "request_count": {"avg": 24.0},
        "time_to_first_token": quantity,
        "inter_token_latency": {"p50": 1.0, "p99": 1.0},
        "inter_chunk_latency": gaps,
    }
    write(load.folder / "profile_export_aiperf.json", found)
    assert peers.find("aiperf").claims(load) == (24, TTFT, GAP, None, None)


def test_guidellm(load: Load) -> None:
    metrics = {
        "request_totals": {"successful": 24},
        "time_to_first_token_ms": {"successful": {"percentiles": {"p50": 51.0, "p99": 59.0}}},
        "inter_token_latency_ms": {"successful": {"percentiles": {"p50": 10.0, "p99": 14.0}}},
    }
    write(load.folder / "report.json", {"benchmarks": [{"metrics": metrics}]})
    assert peers.find("guidellm").claims(load) == (24, TTFT, GAP, None, None)


def test_inference_perf_counts_in_seconds(load: Load) -> None:
    latency = {
        "time_to_first_token": {"median": 0.051, "p99": 0.059},
        "inter_token_latency": {"median": 0.01, "p99": 0.014},
    }
    found = {
        "load_summary": {"schedule_delay": {"p99": 0.003}},
        "successes": {"count": 24, "latency": latency},
    }
    write(load.folder / "reports" / "summary_lifecycle_metrics.json", found)
    assert peers.find("inference-perf").claims(load) == (24, TTFT, GAP, 3.0, None)


def test_vllm(load: Load) -> None:
    found = {
        "completed": 24,
        "p50_ttft_ms": 51.0,
        "p99_ttft_ms": 59.0,
        "p50_itl_ms": 10.0,
        "p99_itl_ms": 14.0,
    }
    write(load.folder / "result.json", found)
    assert peers.find("vllm").claims(load) == (24, TTFT, GAP, None, None)


def test_evalscope(load: Load) -> None:
    folder = load.folder / "out" / "timetable" / "parallel_7_number_24"
    write(folder / "benchmark_summary.json", {"Success Requests": 24})
    rows = [
        {"Percentiles": "50%", "TTFT (ms)": 51.0, "ITL (ms)": 10.0},
        {"Percentiles": "99%", "TTFT (ms)": 59.0, "ITL (ms)": 14.0},
    ]
    write(folder / "benchmark_percentile.json", rows)
    assert peers.find("evalscope").claims(load) == (24, TTFT, GAP, None, None)


@pytest.mark.parametrize("name", ["floor", "locust"])
def test_clients_that_write_times_down(name: str, load: Load) -> None:
    times = [[f"{name}-0", 1_000_000, [52_000_000, 62_000_000, 76_000_000]], [f"{name}-1", 0, []]]
    write(load.folder / "times.json", times)
    claims = peers.find(name).claims(load)
    assert claims[:3] == (1, Quantiles(51.0, 51.0), Quantiles(10.0, 14.0))
    assert claims.requests == [(f"{name}-0", 51_000_000, [10_000_000, 14_000_000], None)]


def test_tokenpace_is_asked_for_its_service_time(load: Load) -> None:
    def metric(name: str, basis: str | None, p50: float, p99: float) -> dict[str, Any]:
        values = [{"p": 50.0, "value": p50 * 1e6}, {"p": 99.0, "value": p99 * 1e6}]
        return {"name": name, "basis": basis, "percentiles": values}

    found = {
        "health": {"schedule_lag_p99": 2_500_000},
        "outcomes": {"ok": 24},
        "metrics": [
            metric("ttft", "response", 1, 1),
            metric("ttft", "service", *TTFT),
            metric("chunk_gap", None, *GAP),
        ],
    }
    write(load.folder / "result" / "result.json", found)
    write(load.folder / "result" / "checkpoint.json", {"started_ns": 1_000})
    entry = {"index": 3, "due_ns": 4, "sent_ns": 5, "chunk_ns": [15, 17]}
    (load.folder / "result" / "journal.jsonl").write_text(json.dumps(entry) + "\n")
    assert peers.find("tokenpace").claims(load) == (24, TTFT, GAP, 2.5, [("-3", 10, [2], 1_004)])
