"""Errors as a user of the plugin sees them: at the line of the test, without the frames that found them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from harness.errors import HarnessError
from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

P = ParamSpec("P")
T = TypeVar("T")

__tracebackhide__ = True
"""pytest leaves out the frames of every module that says so."""

_FOR_USERS = (ScenarioError, HarnessError)
"""Their message says all: what is wrong and what to do."""


def plainly(function: Callable[P, T]) -> Callable[P, T]:
    """Let errors that are meant for users appear where the test calls ``function``."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except _FOR_USERS as error:
            raise error.with_traceback(None) from None

    return call


def plainly_awaited(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same where the test awaits it."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except _FOR_USERS as error:
            raise error.with_traceback(None) from None

    return call
