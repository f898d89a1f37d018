"""What a run was, and what of it must be the same for a comparison to mean anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from harness.result_folder import Manifest
    from reports.result import Result

_SENT: Final = ("load", "prompts", "sampling", "endpoint", "loop", "model", "tokenizer", "workload")
"""What the server was asked to do: other requests have other times."""
_LENGTH: Final = (
    "load.duration",
    "load.requests",
    "load.warmup",
    "load.warmup_requests",
    "load.cooldown",
    "load.grace",
    "load.stop",
)
"""How much of it was sent, which moves no number by itself."""
_REMARKED: Final = (*_LENGTH, "seed", "base_url", "timeouts", "tool_version", "token_source", "objectives")
_MACHINE: Final = ("cpu", "num_cpus", "platform", "python")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was.

    Attributes:
        name: Of its scenario.
        started_at: ISO 8601 wall time with zone.
        keys: Everything that may make it unlike another, by dotted key.
        faults: Why it can't be trusted; empty where it can.
        num_requests: Of the whole run.
        duration_s: Its length.
        client_bound: Tokens whose number was guessed, or another remark on its counts; empty for none.
    """

    name: str
    started_at: str
    keys: dict[str, Any]
    faults: tuple[str, ...]
    num_requests: int
    duration_s: float

    @property
    def seed(self) -> Any:  # noqa: ANN401 (as the manifest holds it)
        """Of all chance in the run."""
        return self.keys.get("seed")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A key that two runs don't share.

    Attributes:
        key: ``load.rate``, ``model``.
        a: Its value in A, None where it isn't set.
        b: Its value in B.
        matters: Whether it changes what the server was asked to do.
    """

    key: str
    a: Any
    b: Any
    matters: bool


def identity_of(manifest: Manifest, result: Result) -> Identity:
    """What the run of a result folder was."""
    return Identity(
        name=result.scenario_name,
        started_at=result.started_at,
        keys=planned_keys(manifest.scenario, model=manifest.model, loop=manifest.loop)
        | {
            "base_url": manifest.base_url,
            "tool_version": manifest.tool_version,
            "token_source": result.token_source,
            **{f"environment.{key}": manifest.environment.get(key) for key in _MACHINE},
        },
        faults=tuple(_faults(result)),
        num_requests=result.num_requests,
        duration_s=result.duration_s,
    )


def planned_keys(scenario: Mapping[str, Any], *, model: str | None, loop: str) -> dict[str, Any]:
    """The keys that are known before a run: those of its scenario, the model as sent, the loop."""
    kept = {
        key: scenario[key]
        for key in ("load", "prompts", "sampling", "timeouts", "tokenizer")
        if key in scenario
    }
    return dict(_flat(kept)) | {
        "endpoint": scenario.get("endpoint", "chat"),
        "model": model,
        "loop": loop,
        "seed": scenario.get("seed", 0),
        "objectives": _objectives(scenario),
    }


def differences(
    a: Mapping[str, Any], b: Mapping[str, Any], across: Iterable[str] = ()
) -> Iterator[Difference]:
    """The keys in which two runs differ.

    Args:
        a: Keys of the one.
        b: Keys of the other; a key that only one of them can have (``base_url`` before a run) is left out by
            the caller.
        across: Keys, or beginnings of keys, that may differ.
    """
    allowed = tuple(across)
    for key in sorted({*a, *b}):
        if a.get(key) != b.get(key):
            matters = _matters(key) and not any(key == each or key.startswith(f"{each}.") for each in allowed)
            yield Difference(key=key, a=a.get(key), b=b.get(key), matters=matters)


def unknown_keys(across: Iterable[str], *keys: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the keys that may differ: one that no run has."""
    known = {part for each in keys for key in each for part in _beginnings(key)} | set(_SENT)
    for name in across:
        if name not in known:
            yield f"--across {name}: the runs have no such key; {did_you_mean(name, known)}"


def _beginnings(key: str) -> Iterator[str]:
    parts = key.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _matters(key: str) -> bool:
    within = any(key == each or key.startswith(f"{each}.") for each in _REMARKED)
    return key.partition(".")[0] in _SENT and not within


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value


def _objectives(scenario: Mapping[str, Any]) -> list[str]:
    """What a good request is, as far as goodput and attainment go by it."""
    thresholds = scenario.get("thresholds") or {}
    texts = ((key, [each] if isinstance(each, str) else each) for key, each in thresholds.items())
    stated = sorted(f"{key} {text}" for key, each in texts for text in each if "baseline" not in text)
    terms = ["token_deadlines", *(["stall_limit"] if "stalls" in thresholds else [])]
    return [*stated, *(f"{term} {scenario[term]}" for term in terms if scenario.get(term))]


def _faults(result: Result) -> Iterator[str]:
    if result.interrupted is not None:
        yield f"it was interrupted by {result.interrupted}"
    yield from result.causes
    if not result.causes and result.verdict is not None and result.verdict.value == "INVALID":
        rules = [rule.rule for rule in result.rules if rule.verdict.value == "INVALID"]
        yield f"it is INVALID: {'; '.join(rules)}"
