"""From the C files of this folder to a shared library in the cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O3", "-shared", "-fPIC", "-std=gnu11")
_NATIVE = ("-march=native",)
_TIMEOUT_S = 120.0


class KernelBuildError(RuntimeError):
    """There is no library. The message says why, as the end of a sentence."""


def build_library(target: tuple[str, ...] = _NATIVE) -> Path:
    """The path of the compiled library; compiled now if the cache has none for these sources and this CPU.

    Processes that build at once each write a file of their own, and the last one stays.

    Args:
        target: Flags that choose the CPU to compile for.

    Raises:
        KernelBuildError: No compiler, it failed, or the cache can't be written.
    """
    compiler = _find_compiler()
    try:
        version = _run([compiler, "--version"])
        path = cache_folder() / f"kernels-{_key(compiler, version, target)}.so"
        if not path.is_file():
            _compile(compiler, target, path)
    except OSError as error:
        raise KernelBuildError(f"the kernels could not be kept in {cache_folder()} ({error})") from error
    return path


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/tokenpace/kernels``, by default below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenpace" / "kernels"


def _find_compiler() -> str:
    for name in _COMPILERS:
        if found := shutil.which(name):
            return found
    raise KernelBuildError(f"no C compiler was found ({', '.join(_COMPILERS)}); install one")


def _key(compiler: str, version: str, target: tuple[str, ...]) -> str:
    """Everything that decides what the library holds and where it runs."""
    digest = hashlib.sha256(repr((compiler, version, _FLAGS, target, _cpu())).encode())
    for source in sorted((*SOURCES.glob("*.c"), *SOURCES.glob("*.h"))):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:32]


def _cpu() -> str:
    """What this CPU can do; its name where the system doesn't list that."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return features or f"{platform.machine()} {platform.processor()}"


def _compile(compiler: str, target: tuple[str, ...], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = [str(source) for source in sorted(SOURCES.glob("*.c"))]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        output = Path(folder) / path.name
        command = [compiler, *_FLAGS, *target, *sources, "-lm", "-o", str(output)]
        try:
            _run([*command, "-fopenmp"])
        except KernelBuildError:
            _run(command)  # one thread computes: this compiler has no OpenMP
        output.replace(path)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603  # the compiler of this machine
    except subprocess.TimeoutExpired as error:
        raise KernelBuildError(f"{command[0]} took longer than {_TIMEOUT_S:.0f} s") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KernelBuildError(f"{command[0]} failed: {reason}")
    return done.stdout
