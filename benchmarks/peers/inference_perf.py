"""inference-perf. It asks for Python 3.12 and runs on 3.11; its random prompts can't be chat messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.peers import Claims, Install, Load, Peer, Quantiles, program

if TYPE_CHECKING:
    from pathlib import Path

_NEEDS = (
    "aiofiles>=25.1.0",
    "aiohttp>=3.11.11",
    "av",
    "boto3>=1.39.0",
    "datasets>=3.3.2",
    "google-cloud-storage>=3.1.0",
    "jinja2>=3.1.0",
    "numpy>=2.2.2",
    "pillow",
    "prometheus-client",
    "pydantic>=2.10.6",
    "pyyaml>=6.0.2",
    "rich",
    "tiktoken>=0.12.0",
    "tqdm",
    "transformers==5.13.0",
    "uvloop>=0.21.0",
)


class InferencePerf(Peer):
    """``inference-perf``."""

    package = "inference-perf"
    installs = (
        Install(_NEEDS),
        Install(("inference-perf==0.7.0",), ("--ignore-requires-python", "--no-deps"), pip=True),
    )

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "inference-perf").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """All is in a file of YAML, of which JSON is a part."""
        config = load.folder / "config.yaml"
        config.write_text(json.dumps(_config(load)))
        return [str(program(python, "inference-perf")), "-c", str(config)]

    def claims(self, load: Load) -> Claims:
        """``summary_lifecycle_metrics.json``, in seconds."""
        found = json.loads((load.folder / "reports" / "summary_lifecycle_metrics.json").read_bytes())
        latency = found["successes"]["latency"]
        lag = found["load_summary"].get("schedule_delay", {}).get("p99")
        return Claims(
            int(found["successes"]["count"]),
            _quantiles(latency["time_to_first_token"]),
            _quantiles(latency["inter_token_latency"]),
            None if lag is None else 1e3 * lag,
        )


def _quantiles(found: dict[str, float]) -> Quantiles:
    return Quantiles(1e3 * found["median"], 1e3 * found["p99"])


def _config(load: Load) -> dict[str, Any]:
    if load.streams:
        stage: dict[str, Any] = {"num_requests": load.num_requests, "concurrency_level": load.streams}
        pace = {"type": "concurrent", "stages": [stage]}
    else:
        stage = {"rate": load.rate, "duration": round(load.num_requests / (load.rate or 1))}
        pace = {"type": "poisson", "stages": [stage]}
    return {
        "api": {"type": "completion", "streaming": True},
        "data": {
            "type": "random",
            "input_distribution": _always(8, load.num_requests),
            "output_distribution": _always(load.tokens, load.num_requests),
        },
        "load": {
            **pace,
            "num_workers": 1,
            "worker_max_concurrency": 10_000,
            "worker_max_tcp_connections": 10_000,
        },
        "server": {"type": "vllm", "model_name": load.model, "base_url": load.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(load.tokenizer)},
        "report": {"request_lifecycle": {"summary": True, "per_stage": False, "per_request": False}},
        "storage": {"local_storage": {"path": str(load.folder / "reports")}},
    }


def _always(value: int, count: int) -> dict[str, int]:
    return {"min": value, "max": value, "mean": value, "std_dev": 0, "total_count": count}


PEER = InferencePerf()
