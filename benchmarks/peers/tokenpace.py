"""This project: ``tokenpace run`` as a user runs it, with journal, histograms, health and every report."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from benchmarks.peers import Claims, Load, Peer, Quantiles, RequestTimes, program

if TYPE_CHECKING:
    from pathlib import Path


class Tokenpace(Peer):
    """``tokenpace run``."""

    package = "tokenpace"
    tokenizes = False

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "tokenpace").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """A scenario file: closed loop, or Poisson arrivals."""
        scenario = load.folder / "scenario.yaml"
        scenario.write_text(json.dumps(_scenario(load)))  # JSON is YAML
        output = str(load.folder / "result")
        return [
            *(str(program(python, "tokenpace")), "run", str(scenario)),
            *("--base-url", load.url, "--model", load.model, "--output", output, "--quiet"),
        ]

    def claims(self, load: Load) -> Claims:
        """``result.json``, in ns; the journal for the requests one by one."""
        found = json.loads((load.folder / "result" / "result.json").read_bytes())
        lag = found["health"]["schedule_lag_p99"]
        return Claims(
            found["outcomes"].get("ok", 0),
            _quantiles(found, "ttft"),
            _quantiles(found, "chunk_gap"),
            None if lag is None else lag / 1e6,
            _requests(load.folder / "result"),
        )


def _scenario(load: Load) -> dict[str, Any]:
    if load.streams:
        pace: dict[str, Any] = {"arrivals": "closed", "concurrency": load.streams}
    else:
        pace = {"arrivals": "poisson", "rate": load.rate}
    return {
        "name": "clients",
        "load": {**pace, "requests": load.num_requests},
        "prompts": {"source": "text", "text": ["one two three four five six seven eight"]},
        "sampling": {"max_tokens": load.tokens},
    }


def _quantiles(found: dict[str, Any], name: str) -> Quantiles:
    """Of the service time: from when a request was sent."""
    (metric,) = (
        each for each in found["metrics"] if each["name"] == name and each["basis"] in (None, "service")
    )
    values = {each["p"]: each["value"] / 1e6 for each in metric["percentiles"]}
    return Quantiles(values[50.0], values[99.0])


def _requests(folder: Path) -> list[RequestTimes]:
    """The id ends with the request's index; what stands before is the run's."""
    started_ns = json.loads((folder / "checkpoint.json").read_bytes())["started_ns"]
    requests = []
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        if "chunk_ns" not in entry or not entry["chunk_ns"]:
            continue
        times = entry["chunk_ns"]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        due_ns = started_ns + entry["due_ns"]
        requests.append(RequestTimes(f"-{entry['index']}", times[0] - entry["sent_ns"], gaps, due_ns))
    return requests


PEER = Tokenpace()
