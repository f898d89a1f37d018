"""The result of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reports.document import read_document
from reports.result import Verdict, exit_code
from reports.result.verdict import worst
from reports.run_row import RunRow

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1


class Measured(RunRow, frozen=True, kw_only=True):
    """One run; attributes besides those of ``RunRow``:

    Attributes:
        variant: Of the server.
        values: Of the keys that are varied.
        causes: Why it is INVALID.
    """

    variant: str
    values: dict[str, Any]
    causes: tuple[str, ...] = ()


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a variant at a point, over all repeats, held against that of another.

    That is the first variant there, or the same variant at the first point.

    Attributes:
        figure: ``e2e mean``, ``goodput``.
        variant: Whose.
        against: The other variant, or the same.
        values: Of the keys that are varied.
        since: Values of the first point, where it is held against itself there; else None.
        unit: Of ``a`` and ``b``.
        kind: ``ratio`` or ``difference``, of the changes.
        a: Value of what it is held against.
        b: Value of the variant.
        change: From there to it; None where it isn't known.
        low: Bound of the change from below.
        high: Bound from above.
        predicted: The change that the model of costs expects; None where it says nothing.
        message: Why something isn't known; empty where all is.
    """

    figure: str
    variant: str
    against: str
    values: dict[str, Any]
    since: dict[str, Any] | None = None
    unit: str = ""
    kind: str = "ratio"
    a: float | None = None
    b: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    predicted: float | None = None
    message: str = ""


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A claim at a point, judged.

    Attributes:
        figure: Of the claim.
        variant: Likewise.
        values: Of the keys that are varied.
        since: As in ``Effect``.
        at_least: The change that is claimed from below.
        at_most: From above.
        verdict: PASS where the whole interval is on its side, FAIL where it is on the other, INVALID where
            the runs can't be compared.
    """

    figure: str
    variant: str
    values: dict[str, Any]
    since: dict[str, Any] | None = None
    at_least: float | None
    at_most: float | None
    verdict: Verdict


class Lab(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment came to.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        name: Of the experiment.
        question: What it asks.
        prediction: What was expected, in words.
        experiment: As it was run.
        ended_at: ISO 8601 wall time with zone.
        runs: All of them.
        effects: Every figure of every variant at every point.
        claims: Judged.
        interrupted: Name of the signal that ended it, None if none did.
    """

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    name: str
    question: str
    prediction: str
    experiment: dict[str, Any]
    ended_at: str
    runs: tuple[Measured, ...] = ()
    effects: tuple[Effect, ...] = ()
    claims: tuple[Claimed, ...] = ()
    interrupted: str | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The worst of all claims; None without any."""
        return worst(claim.verdict for claim in self.claims)

    @property
    def exit_code(self) -> int:
        """129, 130 or 143 when interrupted, else the worst verdict's exit code."""
        return exit_code(self.verdict, self.interrupted)


def load(path: Path) -> Lab:
    """Read ``lab.json``.

    Raises:
        DocumentError: It can't be read, or is of another version.
    """
    return read_document(path, Lab, SCHEMA_VERSION, "result of tokenpace lab")
