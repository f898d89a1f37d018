"""The result of a search for a server's capacity, and of each of its probes."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import msgspec

from reports.document import read_document
from reports.result import Verdict, exit_code
from reports.run_row import RunRow

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1


class End(enum.StrEnum):
    """Why a search ended."""

    PRECISION = "precision"
    TOP = "top"
    BOTTOM = "bottom"
    BUDGET = "budget"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"

    @property
    def verdict(self) -> Verdict | None:
        """PASS where the question was answered, FAIL where no load will do; None for an interrupted one."""
        return _VERDICTS[self.value]


_VERDICTS = {
    "precision": Verdict.PASS,
    "top": Verdict.PASS,
    "bottom": Verdict.FAIL,
    "budget": Verdict.INCONCLUSIVE,
    "invalid": Verdict.INVALID,
    "interrupted": None,
}


class Probe(RunRow, frozen=True, kw_only=True):
    """One run of a search; attributes besides those of ``RunRow``:

    Attributes:
        number: From 1 on, in the order in which they were run.
        load: Requests per second or slots.
        length: How many times as long as the scenario says it was asked to be.
        verdict: Whether the objectives held. A probe that saturated the server is a FAIL.
        reason: The sentence behind the verdict.
        saturated: Whether it was ended because more was sent than the server can do.
        num_requests: Samples of the objective that had most of them.
        num_independent: So many independent ones they were worth, of the objective that had fewest; None
            where that isn't what the verdict is based on.
        more_needed: Samples that would have decided it, where it is undecided and that is known.
        duration_s: From its beginning to the beginning of the next, the draining of the server included.
    """

    number: int
    load: float
    length: float
    verdict: Verdict
    reason: str = ""
    saturated: bool = False
    num_requests: int = 0
    num_independent: float | None = None
    more_needed: int | None = None
    duration_s: float = 0.0

    @property
    def worth(self) -> float:
        """How many independent samples stand behind the verdict."""
        return self.num_requests if self.num_independent is None else self.num_independent

    @property
    def seems_missed(self) -> bool:
        """Whether a value that was seen lies on the wrong side of its limit, for certain or not."""
        seen = [rule for rule in self.rules if rule.observed is not None]
        return any((rule.observed > rule.limit) == ("<" in rule.rule) for rule in seen if rule.observed)


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the knee.

    Attributes:
        load: Requests per second or slots.
        chance: That the objectives hold there, as far as the probes tell, 0 to 1.
    """

    load: float
    chance: float


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """What a search came to.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        scenario_name: Name of the scenario.
        scenario: As given, secrets masked.
        key: What was varied: ``load.rate`` or ``load.concurrency``.
        unit: ``requests/s`` or ``slots``.
        objectives: Those that must hold.
        base_url: The address under test, secrets masked.
        model: The model's name as sent.
        started_at: ISO 8601 wall time with zone.
        confidence: Of each verdict and of the interval.
        end: Why it ended.
        sentence: The answer in words.
        estimate: Most of what is known lies evenly about it; None where nothing passed or nothing failed.
        low: Lower end of the interval; None where no probe passed.
        high: Upper end; None where no probe failed.
        best_pass: The largest load whose probe passed.
        least_fail: The smallest load whose probe failed.
        precision: The width that was asked for: high / low - 1.
        duration_s: Of all probes.
        probes: In the order in which they were run.
        knee: How sure it is that the objectives hold, by load.
        notes: What the reader must know.
        interrupted: Name of the signal that ended it, None if none did.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    scenario_name: str
    scenario: dict[str, Any]
    key: str
    unit: str
    objectives: tuple[str, ...]
    base_url: str
    model: str
    started_at: str
    confidence: float
    end: End
    sentence: str
    estimate: float | None
    low: float | None
    high: float | None
    best_pass: float | None
    least_fail: float | None
    precision: float
    duration_s: float
    probes: tuple[Probe, ...]
    knee: tuple[Chance, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: str | None = None

    @property
    def exit_code(self) -> int:
        """129, 130 or 143 when interrupted, else the exit code of the end's verdict."""
        return exit_code(self.end.verdict, self.interrupted)

    @property
    def word(self) -> str:
        """The verdict, or INTERRUPTED."""
        verdict = self.end.verdict
        return "INTERRUPTED" if verdict is None else verdict.value


def load(path: Path) -> Capacity:
    """Read ``capacity.json``.

    Raises:
        DocumentError: It can't be read, or is of another version.
    """
    return read_document(path, Capacity, SCHEMA_VERSION, "result of tokenpace capacity")
