"""Where the result folders of a test go."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.pytest.settings import value_of
from harness.result_folder import ResultFolderError

if TYPE_CHECKING:
    import pytest

_MAX_NAME: Final = 120


class ResultPlaces:
    """Folders named after the test.

    In pytest's cache each run of the test takes the place of the one before; in ``--sla-results`` all are
    kept.

    Args:
        config: The session's.
        name: The test's node id.
    """

    def __init__(self, config: pytest.Config, name: str) -> None:
        given = value_of(config, "results")
        self._keep = given is not None
        self._parent = Path(given).absolute() if given else _cache(config)
        self._name = re.sub(r"[^\w.-]+", "-", name).strip("-.")[-_MAX_NAME:]
        self._num = 0

    def next(self) -> Path:
        """A new folder, empty.

        Raises:
            ResultFolderError: It can't be made.
        """
        self._num += 1
        path = self._path()
        while self._keep and path.exists():
            self._num += 1
            path = self._path()
        try:
            if path.exists():
                shutil.rmtree(path)
            path.mkdir(parents=True)
        except OSError as error:
            raise ResultFolderError(
                f"{path} can't be made ({error.strerror}); give another folder with --sla-results"
            ) from error
        return path

    def _path(self) -> Path:
        return self._parent / f"{self._name}-{self._num}"


def _cache(config: pytest.Config) -> Path:
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    return config.rootpath / ".sla-results" if cache is None else cache.mkdir("sla")
