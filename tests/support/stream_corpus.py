"""The corpus of streams in tests/data/streams: what a server sends, and what counts of it.

Each file is one stream::

    {"name": ..., "shows": "one sentence", "tags": [...],
     "endpoint": "chat", "status": 200, "content_type": "text/event-stream",
     "sampling": {...},                              # of the request, where it matters
     "end": "complete",                              # or closed, reset
     "reads": [{"ms": 20, "text": "data: ..."},      # one socket read, ms after the request was sent
               {"ms": 30, "hex": "e2 82"},           # the same where it is no text
               {"ms": 50, "text": "...", "times": 100, "every_ms": 1}],
     "expect": {"ttft_ms": 20, "gaps_ms": [10, [5, 3]], ...}}

A pair among the gaps is a gap and how often it comes. Keys of ``expect`` beyond the usual ones (``answer``,
``message``, ``prompt_tokens``, ``chunk_tokens`` ...) are there where the stream is about them.

``python tests/support/stream_corpus.py`` writes docs/streams.md again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "data" / "streams"
PAGE = ROOT / "docs" / "streams.md"

Reads = list[tuple[float, bytes]]

INTRODUCTION = """\
# Streams: what counts

How the harness reads what a server may send, one stream a row. All of them are files in
[tests/data/streams](../tests/data/streams), free to be used for any client: each holds the bytes with their
times and what is expected of them. The form is described in
[stream_corpus.py](../tests/support/stream_corpus.py), which also writes this page. Each is played as it
stands, byte by byte, cut at many places, in a single read, and over a real socket. What the words mean:
[definitions](definitions.md).

Times in ms after the request was sent; 10 x 3 is a gap of 10 ms three times.
"""
ENDING = """\
Made from the servers' documentation and source, in their forms. Streams recorded from real servers lie beside
them in [tests/data/captures](../tests/data/captures).
"""


@dataclass(frozen=True)
class Stream:
    """One stream of the corpus.

    Attributes:
        data: The file as it stands.
        reads: Time in ms and bytes of each read.
        gaps_ms: The expected gaps, one by one.
    """

    data: dict[str, Any]
    reads: Reads
    gaps_ms: list[float]

    @property
    def name(self) -> str:
        """Unique, and the file's name."""
        return str(self.data["name"])

    @property
    def expect(self) -> dict[str, Any]:
        """What counts of it."""
        return dict(self.data["expect"])

    @property
    def wire(self) -> bytes:
        """The whole body."""
        return b"".join(data for _, data in self.reads)


def load() -> list[Stream]:
    """All streams, by name."""
    return [_stream(json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json"))]


def page(streams: list[Stream]) -> str:
    """The documentation of the corpus."""
    dialects = [stream for stream in streams if "dialect" in stream.data["tags"]]
    others = [stream for stream in streams if "dialect" not in stream.data["tags"]]
    return "\n".join(
        [
            INTRODUCTION,
            *_table("Shapes", others),
            "",
            *_table("Dialects", dialects),
            "",
            ENDING,
        ]
    )


def _stream(data: dict[str, Any]) -> Stream:
    reads = [read for row in data["reads"] for read in _reads(row)]
    gaps = [gap for each in data["expect"]["gaps_ms"] for gap in _gaps(each)]
    return Stream(data, reads, gaps)


def _reads(row: dict[str, Any]) -> Reads:
    data = bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode()
    return [(row["ms"] + row.get("every_ms", 0) * i, data) for i in range(row.get("times", 1))]


def _gaps(each: float | list[Any]) -> list[float]:
    return [each[0]] * each[1] if isinstance(each, list) else [each]


def _table(title: str, streams: list[Stream]) -> list[str]:
    return [
        f"## {title}",
        "",
        "| stream | what it shows | TTFT | TTFA | gaps | tokens (by) | outcome | finish |",
        "|---|---|---|---|---|---|---|---|",
        *map(_row, streams),
    ]


def _row(stream: Stream) -> str:
    expect = stream.expect
    outcome = f"`{expect['outcome']}`" + (f" {expect['detail']}" if expect["detail"] else "")
    tokens = "-" if expect["tokens"] is None else f"{expect['tokens']} ({expect['token_source']})"
    cells = [
        f"`{stream.name}`",
        stream.data["shows"],
        _shown(expect["ttft_ms"]),
        _shown(expect["ttfa_ms"]),
        ", ".join(f"{e[0]} x {e[1]}" if isinstance(e, list) else str(e) for e in expect["gaps_ms"]) or "-",
        tokens,
        outcome,
        _shown(expect["finish_reason"]),
    ]
    return f"| {' | '.join(cells)} |"


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(load()))
