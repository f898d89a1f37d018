"""What can go wrong with the store: ``ModelStoreError`` and its kinds.

- ``UnknownModelError``: no such name in the catalogue, nothing at such a path.
- ``ModelAbsentError``: in the catalogue, but not fetched yet.
- ``PullError``: fetching failed.
- ``ChecksumError``: what was fetched is not what it should be.
"""

from __future__ import annotations

from reference_server.models.errors import ModelError


class ModelStoreError(ModelError):
    """Names the fault and the remedy."""


class UnknownModelError(ModelStoreError):
    """Neither a name in the catalogue nor a path at which something lies."""


class ModelAbsentError(ModelStoreError):
    """The model has a place in the store, but has not been fetched."""


class PullError(ModelStoreError):
    """The model could not be fetched."""


class ChecksumError(PullError):
    """A file has another digest than it should."""
