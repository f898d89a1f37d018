"""What can be wrong with a model: ``ModelError`` and its kinds.

- ``ModelNotFoundError``: nothing at the given place.
- ``CheckpointError``: files are there, but broken or incomplete.
- ``UnsupportedModelError``: a sound checkpoint of a kind that is not built here.
"""

from __future__ import annotations


class ModelError(Exception):
    """A model can't be loaded; the message names the fault and the remedy."""


class ModelNotFoundError(ModelError):
    """Nothing that is a model lies at the given place."""


class CheckpointError(ModelError):
    """The checkpoint is broken or incomplete."""


class UnsupportedModelError(ModelError):
    """The checkpoint needs an architecture or a feature that is not built."""
