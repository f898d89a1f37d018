"""What a server expects of a text, token by token: as much of it as servers tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.quality.errors import QualityError

if TYPE_CHECKING:
    from pathlib import Path


class Position(msgspec.Struct, frozen=True, array_like=True):
    """A token of the text after those before it.

    Attributes:
        token: Its id, or where servers name tokens by their text alone, that.
        logprob: Natural logarithm of its probability; None where it isn't among the likely ones listed.
        top: The likeliest tokens with theirs, best first.
    """

    token: str
    logprob: float | None
    top: list[tuple[str, float]]


class Scores(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text by one server.

    Attributes:
        model: Its name there.
        way: How the log-probabilities were asked for.
        by_id: Whether tokens are named by their ids.
        windows: The positions of each window.
        greedy: What it writes after the beginning of each window, by the names of tokens.
    """

    model: str
    way: str
    by_id: bool
    windows: list[list[Position]]
    greedy: list[list[str]]

    @property
    def positions(self) -> list[Position]:
        """All, one window after the other."""
        return [position for window in self.windows for position in window]


def write_scores(scores: Scores, path: Path) -> None:
    """Keep scores as a file, to hold others against them.

    Raises:
        QualityError: It can't be written.
    """
    try:
        path.write_bytes(msgspec.json.encode(scores))
    except OSError as error:
        raise QualityError(f"{path} can't be written ({error.strerror}); name another file") from error


def read_scores(path: Path) -> Scores:
    """Those of a file.

    Raises:
        QualityError: There are none.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scores)
    except OSError as error:
        raise QualityError(f"{path} can't be read ({error.strerror}); name a URL or a file") from error
    except msgspec.DecodeError as error:
        raise QualityError(f"{path} holds no scores ({error}); write them with --record") from error
