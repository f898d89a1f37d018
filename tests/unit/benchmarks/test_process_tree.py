"""A client's processes: what they take is counted, wherever in the tree, and none of them is left."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks.process_tree import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and subreapers are Linux's")

BURN = "import time\nwhile time.process_time() < {}: pass\n"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_cpu_of_a_child_and_of_an_orphan_is_counted(tmp_path: Path) -> None:
    """The orphan's parent ends at once; the client ends when the orphan has."""
    code = (
        "import os, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {BURN.format(0.3)!r}])\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        os.close(read)\n"
        f"        exec({BURN.format(0.3)!r})\n"
        "    os._exit(0)\n"
        "os.close(write)\n"
        "os.read(read, 1)\n"
    )
    usage = run(python(code), {}, None, tmp_path / "output", 60)
    assert usage.exit_code == 0
    assert usage.cpu_s >= 0.6
    assert usage.peak_mb > 1
    assert usage.times_ns == sorted(usage.times_ns)
    assert usage.cpu_then_s[-1] == usage.cpu_s


def test_what_it_prints_and_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TO_BE_GONE", "1")
    code = "import os, sys; print(os.getenv('TO_BE_GONE'), os.getenv('GIVEN')); sys.exit(3)"
    usage = run(python(code), {"TO_BE_GONE": None, "GIVEN": "yes"}, None, tmp_path / "output", 60)
    assert usage.exit_code == 3
    assert (tmp_path / "output").read_text() == "None yes\n"


def test_a_client_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "child = subprocess.Popen(sleep, start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    usage = run(python(code), {}, None, tmp_path / "output", 3)
    assert usage.exit_code is None
    child = int((tmp_path / "output").read_text())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the child is still there")


def test_threads_that_end_meanwhile_do_not_disturb(tmp_path: Path) -> None:
    over = threading.Event()

    def thread_after_thread() -> None:
        while not over.is_set():
            threading.Thread(target=int).start()

    threads = threading.Thread(target=thread_after_thread)
    threads.start()
    try:
        assert run(python("import time; time.sleep(1)"), {}, None, tmp_path / "output", 60).exit_code == 0
    finally:
        over.set()
        threads.join()
