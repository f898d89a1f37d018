"""A comparison as it is saved: a frozen value with a versioned schema."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from reports.document import read_document
from reports.result import Curve as Curve

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
NAME = "tokenpace comparison"


class Change(enum.StrEnum):
    """What became of a figure, or of all of them."""

    REGRESSION = "regression"
    IMPROVED = "improved"
    NO_DIFFERENCE = "no difference shown"
    UNDECIDED = "undecided"
    INVALID = "invalid"
    NOT_COMPARED = "not compared"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number of both sides.

    Attributes:
        name: ``ttft p95``, ``goodput``.
        unit: Of ``a`` and ``b``: ``ns``, ``requests/s``, ``tokens/s`` or ``share``.
        kind: ``ratio`` (B / A) or ``difference`` (B - A, of shares).
        larger_is_worse: True for times and failures.
        a: Value of A; None without a sample.
        b: Value of B.
        n_a: Number of samples behind it.
        n_b: Likewise.
        change: B / A or B - A; None where it isn't known.
        low: Bound of the change from below, with the comparison's confidence by itself.
        high: Bound from above, likewise.
        allowed: The change at which a regression begins, as ``change`` is: 1.05 for 5 % more.
        chance: How likely so bad a change would be if the truth were just allowed, corrected for the
            number of figures (Holm); None where it isn't known.
        verdict: What became of it.
        times_as_many: By what factor more samples would decide, where undecided and known.
        message: One sentence, empty where there is nothing to add.
    """

    name: str
    unit: str
    kind: str
    larger_is_worse: bool
    a: float | None
    b: float | None
    n_a: int
    n_b: int
    change: float | None = None
    low: float | None = None
    high: float | None = None
    allowed: float
    chance: float | None = None
    verdict: Change
    times_as_many: float | None = None
    message: str = ""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a side.

    Attributes:
        scenario_name: Of its scenario.
        model: As sent.
        base_url: Secrets masked.
        started_at: ISO 8601 wall time with zone.
        num_requests: Of the whole run.
        duration_s: Its length.
        seed: The scenario's.
    """

    scenario_name: str
    model: str
    base_url: str
    started_at: str
    num_requests: int
    duration_s: float
    seed: int


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A side.

    Attributes:
        label: The folder's or the baseline's name.
        runs: At least one.
        curves: Whole distributions, over all runs.
    """

    label: str
    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A key that the runs don't share.

    Attributes:
        key: ``load.rate``, ``model``.
        a: Its value in A, as text; empty where it isn't set.
        b: Its value in B.
        matters: Whether the runs can't be compared because of it.
    """

    key: str
    a: str
    b: str
    matters: bool


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides held against each other.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        verdict: The worst of all: invalid, regression, undecided, and where none of them is, improved or no
            difference shown.
        causes: Why nothing can be said, each with its remedy.
        a: The one before.
        b: The one after.
        confidence: Of each bound by itself, and of all regressions and all improvements together.
        method: How it was computed, in a sentence.
        figures: All that were compared, or should have been.
        differences: Keys that the runs don't share.
        notes: What the reader must know.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    verdict: Change
    causes: tuple[str, ...]
    a: Side
    b: Side
    confidence: float
    method: str
    figures: tuple[Figure, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 no regression, 1 regression, 3 undecided, 4 invalid (2 is a usage error)."""
        codes = {Change.REGRESSION: 1, Change.UNDECIDED: 3, Change.INVALID: 4}
        return codes.get(self.verdict, 0)


def load(path: Path) -> Comparison:
    """Read what ``reports.comparison.json`` wrote.

    Raises:
        DocumentError: It can't be read, is no comparison, or of another version.
    """
    return read_document(path, Comparison, SCHEMA_VERSION, NAME)
