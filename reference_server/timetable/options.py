"""How the server is started."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reference_server.timetable.event_loop import LoopName
from reference_server.timetable.freeze import Freeze
from reference_server.timetable.script import Script


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole server.

    Attributes:
        event_loop: What carries the connections.
        host: To listen on.
        port: 0 takes a free one.
        served_model_name: The one model.
        seed: Of all chance and of the text.
        max_num_seqs: Requests served at a time, None for as many as come.
        freezes: When the whole server stands still.
        log: A file for the log, None to keep it in memory alone.
        script: For requests that don't bring their own.
    """

    event_loop: LoopName = "auto"
    host: str = "127.0.0.1"
    port: int = 8000
    served_model_name: str = "timetable"
    seed: int = 0
    max_num_seqs: int | None = None
    freezes: tuple[Freeze, ...] = ()
    log: Path | None = None
    script: Script = Script()
