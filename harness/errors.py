"""What stops a run, as one tree. What befalls a single request is no exception but its outcome.

HarnessError
├── TargetError      the address, a header, a certificate file or the proxy can't be used
├── PreflightError   the server can't be reached or doesn't answer as one of its kind would
├── EndpointError    the endpoint is unknown or can't carry the prompt
└── JournalError     the journal can't be written or read
"""

from __future__ import annotations


class HarnessError(Exception):
    """The run can't go on. The message names the fault and the remedy, secrets masked."""


class TargetError(HarnessError, ValueError):
    """The address under test, or how it is to be reached, can't be used."""


class PreflightError(HarnessError):
    """The server didn't pass the look before the run.

    Attributes:
        outcome: The outcome that a request would have had: ``connect_error``, ``tls_error``, ...
    """

    def __init__(self, message: str, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class EndpointError(HarnessError, ValueError):
    """The endpoint is unknown or can't carry what is asked."""


class JournalError(HarnessError):
    """The journal can't be written or read; lines written before are whole."""
