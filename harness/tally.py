"""What the requests of a run add up to: in one process, or in parts that are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from harness.errors import HarnessError
from harness.past_scenario import past_scenario
from harness.sla.grammar import rules_from
from harness.summary import Summarizer, SummaryState
from harness.telemetry.client_side import ClientSide
from harness.terms import Terms
from harness.warm_up import WarmUp, WarmUpState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.decided import Decided
    from harness.record import Record
    from harness.result_folder import Manifest
    from harness.window import Window

VERSION: Final = 3


class PartError(HarnessError):
    """Bytes that are no part of a run, or of another version."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What some of the requests of a run add up to: a value that any transport can carry.

    Attributes:
        version: Of this structure.
        summary: Counts and histograms.
        warm_up: What the end of the warm-up is found from.
        client_side: What the server's own figures are held against.
    """

    version: int = VERSION
    summary: SummaryState
    warm_up: WarmUpState
    client_side: dict[str, int]

    def encode(self) -> bytes:
        """As MessagePack."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Part:
        """The part that ``encode`` wrote.

        Raises:
            PartError: It is none, or one of another version of tokenpace.
        """
        try:
            version = msgspec.msgpack.decode(data, type=_Versioned).version
            if version != VERSION:
                raise PartError(
                    f"a part of version {version}, this tokenpace puts together version {VERSION}: "
                    "let all processes run the same tokenpace"
                )
            return msgspec.msgpack.decode(data, type=cls)
        except msgspec.MsgspecError as error:
            raise PartError(f"these bytes are no part of a run ({error})") from error


class _Versioned(msgspec.Struct):
    version: int


class Tally:
    """Takes records one by one, in any order, and other tallies' parts.

    Args:
        manifest: What the run was asked to do.

    Attributes:
        scenario: What judges it (``past_scenario``).
        rules: Its objectives.
        warm_up: Finds the measured window where only the run can tell.
        summarizer: Counts and histograms.
        client_side: What the server's own figures are held against.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self.scenario = past_scenario(manifest.scenario)
        self.rules = rules_from(self.scenario.thresholds)
        self.warm_up = WarmUp(manifest.window)
        self.summarizer = self._new_summarizer(manifest.window)
        self.client_side = ClientSide()

    def _new_summarizer(self, window: Window) -> Summarizer:
        manifest = self._manifest
        return Summarizer(
            window,
            manifest.loop,
            capped=manifest.capped,
            rules=self.rules,
            max_samples=self.scenario.samples,
            terms=Terms.of(self.scenario),
        )

    @property
    def max_samples(self) -> int:
        """So many requests, the first ones of the schedule, keep prompt and answer as text."""
        return self.scenario.samples

    def add(self, record: Record) -> None:
        """Take one request."""
        self.warm_up.add(record)
        self.summarizer.add(record)
        self.client_side.add(record)

    def part(self) -> Part:
        """All that was taken so far."""
        return Part(
            summary=self.summarizer.state(),
            warm_up=self.warm_up.state(),
            client_side=self.client_side.state(),
        )

    def merge(self, part: Part) -> None:
        """Take what another tally of the same run took: as if one had taken all, to the last bit."""
        self.summarizer.merge(part.summary)
        self.warm_up.merge(part.warm_up)
        self.client_side.merge(part.client_side)

    def settle(self, records: Iterable[Record], decided: Decided | None = None) -> None:
        """The run is over: measure it anew where its window is known only now.

        Args:
            records: All of them once more; not touched where the window was known before.
            decided: What ended it before its time, and with it the window.
        """
        window = self.warm_up.window()
        if decided is not None:
            end_ns = decided.at_ns if window.end_ns is None else min(window.end_ns, decided.at_ns)
            window = msgspec.structs.replace(window, end_ns=end_ns, fixed=True)
        if window == self._manifest.window:
            return
        self.summarizer = self._new_summarizer(window)
        for record in records:
            self.summarizer.add(record)
