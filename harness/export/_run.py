"""A run on disk, as the tables read it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.census import Census
from harness.damage import examined
from harness.warm_up import WarmUp
from harness.workers.journals import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.record import Record
    from harness.result_folder import ResultFolder
    from harness.window import Window
    from reports.result import Result


class ExportedRun:
    """Reads what a table asks for, and no more.

    Args:
        folder: The result folder of the run.

    Attributes:
        manifest: What the run was asked to do.
    """

    def __init__(self, folder: ResultFolder) -> None:
        self.folder = folder
        self.manifest = folder.manifest()
        self._census: Census | None = None

    @property
    def loop(self) -> str:
        """``open`` or ``closed``."""
        return self.manifest.loop

    def records(self) -> Iterator[Record]:
        """Every request, in the order of their ends."""
        census = Census()
        yield from read_records(self.folder.journal_path, census)
        self._census = census

    def faults(self) -> tuple[str, ...]:
        """What is wrong with the files, where all requests have been read; one sentence each."""
        if self._census is None:
            return ()
        return examined(self.folder, self._census, 0)[1].causes

    @functools.cached_property
    def window(self) -> Window:
        """What was measured. Where only the run could tell, the journal is read for it."""
        planned = self.manifest.window
        if not planned.warmup_requests and not planned.auto_warmup:
            return planned
        warm_up = WarmUp(planned)
        for record in self.records():
            warm_up.add(record)
        return warm_up.window()

    def result(self) -> Result:
        """The result.

        Raises:
            DocumentError: There is none, as after a run that was killed, or it can't be read.
        """
        from reports.result import load

        return load(self.folder.result_path)
