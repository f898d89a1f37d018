"""Show a server a text, and note what it expects of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.preflight import find_model
from harness.quality.errors import NotGivenError, QualityError
from harness.quality.scores import Scores
from harness.quality.server import PATIENCE, AskedServer
from harness.quality.text import windows
from harness.quality.ways import Way, ways

if TYPE_CHECKING:
    from harness.quality.reply import Listed
    from harness.target import Target

PROMPT_TOKENS: Final = 32
"""The beginning of a window that greedy text continues."""


class Shown(NamedTuple):
    """What a server is shown.

    Attributes:
        text: Any.
        window: Tokens read at once.
        num_top: Likeliest tokens to list at each position.
        num_greedy: Tokens to write after the beginning of each window; 0: none.
    """

    text: str
    window: int = 512
    num_top: int = 20
    num_greedy: int = 64


async def score(target: Target, model: str | None, shown: Shown) -> Scores:
    """What a server expects of a text.

    Raises:
        PreflightError: The server or the model isn't there.
        QualityError: It gives no log-probabilities of a given text, or no tokens.
    """
    server = AskedServer(target, await find_model(target, PATIENCE, model))
    async with contextlib.AsyncExitStack() as at_end:
        at_end.push_async_callback(server.close)
        cut = windows(await server.tokens(shown.text), shown.window)
        way, first = await _first_that_answers(server, cut[0], shown.num_top)
        found = [first, *[await way.score(server, window, shown.num_top) for window in cut[1:]]]
        greedy = [await _greedy(server, window[:PROMPT_TOKENS], shown.num_greedy) for window in cut]
    return Scores(
        model=server.model,
        way=way.name,
        by_id=all(each.by_id for each in found),
        windows=[each.positions for each in found],
        greedy=greedy if shown.num_greedy else [],
    )


async def _first_that_answers(server: AskedServer, window: list[int], num_top: int) -> tuple[Way, Listed]:
    reasons = []
    for way in ways():
        try:
            return way, await way.score(server, window, num_top)
        except NotGivenError as error:
            reasons.append(f"{way.name}: {error}")
    raise QualityError(
        f"{server.target.url} gives no log-probabilities of a given text ({'; '.join(reasons)}), so its "
        "quality can't be measured over HTTP; ask one that answers /v1/completions with logprobs"
    )


async def _greedy(server: AskedServer, prompt: list[int], num_tokens: int) -> list[str]:
    if not num_tokens:
        return []
    found = await server.complete(prompt, 1, num_tokens)
    return [position.token for position in found.positions]
