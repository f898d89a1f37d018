"""The model store: named models in the user's cache, fetched once and checked against their digests.

- :mod:`~reference_server.model_store.catalogue`: which models there are, and where each comes from.
- :mod:`~reference_server.model_store.lookup`: from a name or a path to the file.
- :mod:`~reference_server.model_store.pull`: bring a model into the store.
"""

from __future__ import annotations

from reference_server.model_store.catalogue import CATALOGUE, TINY_RANDOM, StoredModel
from reference_server.model_store.errors import (
    ModelAbsentError,
    ModelStoreError,
    PullError,
    UnknownModelError,
)
from reference_server.model_store.lookup import find, resolve

__all__ = [
    "CATALOGUE",
    "TINY_RANDOM",
    "ModelAbsentError",
    "ModelStoreError",
    "PullError",
    "StoredModel",
    "UnknownModelError",
    "find",
    "resolve",
]
