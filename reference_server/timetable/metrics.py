"""``/metrics``: the few of vLLM's names that are true without a model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.timetable.capacity import Capacity
    from reference_server.timetable.log import Entry


class Metrics:
    """Counts finished requests and tells how many are under way.

    Args:
        model_name: The label.
        capacity: Knows who runs and who waits.
    """

    def __init__(self, model_name: str, capacity: Capacity) -> None:
        self._labels = f'engine="0",model_name="{_escaped(model_name)}"'
        self._capacity = capacity
        self._finished: Counter[str] = Counter()
        self._prompt_tokens = self._generation_tokens = 0

    def count(self, entry: Entry) -> None:
        """Take in a finished request."""
        self._prompt_tokens += entry.prompt_tokens
        self._generation_tokens += entry.completion_tokens
        if entry.finish_reason is not None:
            self._finished[entry.finish_reason] += 1
        elif entry.outcome in ("client_left", "slow_reader"):
            self._finished["abort"] += 1
        else:
            self._finished["error"] += 1

    def render(self) -> bytes:
        """The text exposition."""
        lines = [
            *self._single(
                "gauge", "num_requests_running", "Requests in service.", self._capacity.num_running
            ),
            *self._single(
                "gauge", "num_requests_waiting", "Requests in the queue.", self._capacity.num_waiting
            ),
            *self._single("counter", "prompt_tokens_total", "Prompt tokens.", self._prompt_tokens),
            *self._single("counter", "generation_tokens_total", "Tokens sent.", self._generation_tokens),
            *_header("counter", "request_success_total", "Finished requests."),
        ]
        for reason, count in sorted(self._finished.items()):
            lines.append(
                f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {float(count)}'
            )
        return ("\n".join(lines) + "\n").encode()

    def _single(self, kind: str, name: str, text: str, value: int) -> list[str]:
        return [*_header(kind, name, text), f"vllm:{name}{{{self._labels}}} {float(value)}"]


def _header(kind: str, name: str, text: str) -> list[str]:
    return [f"# HELP vllm:{name} {text}", f"# TYPE vllm:{name} {kind}"]


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
