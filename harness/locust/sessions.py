"""The session of each of Locust's environments."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from harness.errors import HarnessError

if TYPE_CHECKING:
    from locust.env import Environment

    from harness.locust.session import Session

_sessions: WeakKeyDictionary[Environment, Session] = WeakKeyDictionary()


class NoSessionError(HarnessError):
    """A user of ours exists where no test has begun."""


def session_of(environment: Environment) -> Session:
    """The session of the test that goes on.

    Raises:
        NoSessionError: None does.
    """
    session = _sessions.get(environment)
    if session is None:
        raise NoSessionError(
            "no test has begun: such users are spawned by Locust, after its event test_start"
        )
    return session


def keep(environment: Environment, session: Session) -> None:
    """It is that of the environment from now on."""
    _sessions[environment] = session
