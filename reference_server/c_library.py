"""From the C files of a folder to a shared library in the cache, by the system's compiler, where it runs."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-shared", "-fPIC", "-std=gnu11")
_TIMEOUT_S = 120.0


class BuildError(RuntimeError):
    """There is no library. The message says why, as the end of a sentence."""


class CLibrary(NamedTuple):
    """What a library is made of.

    Attributes:
        name: Of its folder in the cache, and what messages call it.
        sources: The folder with its ``.c`` and ``.h`` files.
        flags: For the compiler, such as those that choose the CPU.
        optional: Flags that are left out if the compiler fails with them.
    """

    name: str
    sources: Path
    flags: tuple[str, ...] = ("-O2",)
    optional: tuple[str, ...] = ()

    def build(self) -> Path:
        """The path of the library; compiled now if the cache has none for these sources and this CPU.

        Processes that build at once each write a file of their own, and the last one stays.

        Raises:
            BuildError: No compiler, it failed, or the cache can't be written.
        """
        compiler, folder = _find_compiler(), cache_folder(self.name)
        try:
            path = folder / f"{self.name}-{self._key(compiler, _run([compiler, '--version']))}.so"
            if not path.is_file():
                self._compile(compiler, path)
        except OSError as error:
            raise BuildError(f"the {self.name} could not be kept in {folder} ({error})") from error
        return path

    def _key(self, compiler: str, version: str) -> str:
        """Everything that decides what the library holds and where it runs."""
        digest = hashlib.sha256(repr((compiler, version, _FLAGS, self.flags, self.optional, _cpu())).encode())
        for source in sorted((*self.sources.glob("*.c"), *self.sources.glob("*.h"))):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        return digest.hexdigest()[:32]

    def _compile(self, compiler: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        sources = [str(source) for source in sorted(self.sources.glob("*.c"))]
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            output = Path(folder) / path.name
            command = [compiler, *_FLAGS, *self.flags, *sources, "-lm", "-o", str(output)]
            try:
                _run([*command, *self.optional])
            except BuildError:
                if not self.optional:
                    raise
                _run(command)
            output.replace(path)


def cache_folder(name: str) -> Path:
    """``$XDG_CACHE_HOME/tokenpace/<name>``, by default below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenpace" / name


def _find_compiler() -> str:
    for name in _COMPILERS:
        if found := shutil.which(name):
            return found
    raise BuildError(f"no C compiler was found ({', '.join(_COMPILERS)}); install one")


def _cpu() -> str:
    """What this CPU can do; its name where the system doesn't list that."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return features or f"{platform.machine()} {platform.processor()}"


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603  # the compiler of this machine
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} took longer than {_TIMEOUT_S:.0f} s") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BuildError(f"{command[0]} failed: {reason}")
    return done.stdout
