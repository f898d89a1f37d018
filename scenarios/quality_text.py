"""A text by which the server's quality is measured before the load."""

from __future__ import annotations

from pydantic import Field

from scenarios.files import DataFile
from scenarios.section import Section


class QualityText(Section):
    """What the server is shown.

    Attributes:
        text: A file of UTF-8 text; None for the one that ships with tokenpace.
        reference: What ``tokenpace quality --record`` wrote of the server that it is held against; None for
            none.
        window: Tokens read at once.
        top: Likeliest tokens that the server lists at each position.
    """

    text: DataFile | None = None
    reference: DataFile | None = None
    window: int = Field(512, ge=2, le=1_000_000)
    top: int = Field(20, ge=1, le=1_000)
