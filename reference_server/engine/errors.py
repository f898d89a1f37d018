"""Why a request is refused before it is queued: ``RequestError`` and its kinds.

- ``InvalidRequestError``: a value makes no sense for this model.
- ``RequestTooLargeError``: the prompt can never fit.
"""

from __future__ import annotations


class RequestError(ValueError):
    """The engine does not take this request; the message can be shown to the client."""


class InvalidRequestError(RequestError):
    """A value is outside what the model or the engine knows."""


class RequestTooLargeError(RequestError):
    """The prompt leaves no room for a single token of output."""


class EngineConfigError(ValueError):
    """A setting can't be met on this machine or with this model. The message names it and the remedy."""
