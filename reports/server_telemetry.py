"""What the server said of itself during a run, and how it agrees with what the client saw."""

from __future__ import annotations

import enum

import msgspec


class CheckVerdict(enum.StrEnum):
    """Whether the two sides agree. ``differs`` is a remark and never makes a run fail."""

    OK = "ok"
    DIFFERS = "differs"


class CrossCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity as both sides know it.

    Attributes:
        name: ``output_tokens``, ``prompt_tokens``, ``in_flight``, ``littles_law``, ``ttft``, ``queue_time``.
        unit: ``tokens``, ``requests`` or ``ns``, of both values.
        client: What the client counted or timed.
        server: What the server did.
        ratio: Server over client, None where the client has 0.
        verdict: ``ok`` or ``differs``.
        message: One sentence.
    """

    name: str
    unit: str
    client: float
    server: float
    ratio: float | None
    verdict: CheckVerdict
    message: str


class ServerPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The server at one instant, or the largest values of some neighbouring ones. None where it is silent.

    Attributes:
        at_s: Seconds after the start of the run; the last of the instants.
        running: Requests in service. None after the end of the run, likewise the next two.
        waiting: Requests in its queue.
        kv_usage: Share of the KV cache in use, 0 to 1.
        prompt_tokens: Counted since the first look.
        generation_tokens: Likewise.
    """

    at_s: float
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None


class ServerTelemetry(msgspec.Struct, frozen=True, kw_only=True):
    """What the server's own metrics say of a run. A figure it doesn't offer is None.

    Attributes:
        dialect: Whose names it uses: ``vllm``, ``sglang``, ``tgi``, ``llamacpp``, ``trtllm``.
        url: Where they were read, without query and secrets.
        num_readings: Times they were read.
        num_failed: Times they couldn't be.
        num_looks: Of the readings, those that fell into the run; None in old results.
        ttft_mean: The server's own, over the run, ns; likewise all means.
        queue_time_mean: From the arrival of a request to its first step.
        itl_mean: Between two tokens of a request.
        preemptions: Requests that had to make room, in the run.
        prefix_cache_hit_rate: Share of what was looked up in the prefix cache that was found, 0 to 1.
        points: The run over time, at most 240.
        checks: The quantities that both sides know.
        notes: Why checks are missing.
    """

    dialect: str
    url: str
    num_readings: int
    num_failed: int = 0
    num_looks: int | None = None
    ttft_mean: float | None = None
    queue_time_mean: float | None = None
    itl_mean: float | None = None
    preemptions: float | None = None
    prefix_cache_hit_rate: float | None = None
    points: tuple[ServerPoint, ...] = ()
    checks: tuple[CrossCheck, ...] = ()
    notes: tuple[str, ...] = ()
