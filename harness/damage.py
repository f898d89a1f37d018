"""What is wrong with the files that a run left, as the one who makes its result again finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from harness.client_health import HealthProbe
from harness.drivers import LoadFacts
from harness.journal import is_torn
from harness.result_folder import Checkpoint, ResultFolderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.census import Census
    from harness.result_folder import ResultFolder


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Why a result made from these files can't be trusted.

    Attributes:
        causes: One sentence each, with its remedy; none where all is as the run left it.
        checkpoint_is_lost: Whether nothing is known of the harness's own error, nor of the run's end.
    """

    causes: tuple[str, ...] = ()
    checkpoint_is_lost: bool = False


UNDAMAGED: Final = Damage()


def examined(folder: ResultFolder, census: Census, ended_ns: int) -> tuple[Checkpoint, Damage]:
    """How far a run came, and what is wrong with its files.

    A checkpoint that is missing or can't be read is that of a run that was broken off. Of one that was, the
    journal may go further than the last checkpoint: then the run came as far as the journal does.

    Args:
        folder: The run's.
        census: What its journal holds.
        ended_ns: End of the last request there.
    """
    try:
        checkpoint = folder.checkpoint()
    except ResultFolderError as error:
        causes = (
            f"{error}: nothing is known of the harness's own error",
            *journal_faults(folder, census, None),
        )
        return _broken_off(ended_ns), Damage(causes=causes, checkpoint_is_lost=True)
    damage = Damage(causes=tuple(journal_faults(folder, census, checkpoint)))
    if checkpoint.finished or checkpoint.elapsed_ns >= ended_ns:
        return checkpoint, damage
    return structs.replace(checkpoint, elapsed_ns=ended_ns), damage


def journal_faults(folder: ResultFolder, census: Census, checkpoint: Checkpoint | None) -> Iterator[str]:
    """What is wrong with a journal, by itself and by what the end of its run says of it."""
    finished = checkpoint is not None and checkpoint.finished
    if finished and is_torn(folder.journal_path):
        yield "the last line of the journal is cut off, though the run came to its end: restore the file"
    if census.num_repeated:
        yield (
            f"the journal holds {census.num_repeated} more lines of requests that it has already: each "
            "request is counted once, by its first line; restore the file"
        )
    written = checkpoint.num_records if checkpoint is not None else None
    if written is not None and written != census.num_records:
        yield (
            f"the journal holds {census.num_records} requests where the run wrote {written}: it was changed "
            "or damaged since; restore the file, or run again"
        )


def _broken_off(ended_ns: int) -> Checkpoint:
    health = HealthProbe().report(LoadFacts(), is_open=False)
    return Checkpoint(elapsed_ns=ended_ns, finished=False, interrupted=None, health=health)
