"""The comparison of clients as a command, with the clients that are always there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "clients.py"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it watches processes in /proc")


def test_one_small_run_from_end_to_end(tmp_path: Path) -> None:
    """Ours and the floor get the same load and every request comes back; who isn't there is named."""
    options = [
        "--quick",
        "--streams",
        "4",
        "--cells",
        "accuracy,ceiling",
        "--peers",
        "tokenpace,floor,evalscope",
    ]
    path = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *options, "--json", str(path)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr
    assert (
        "left out: evalscope is not installed; python benchmarks/clients.py --install evalscope"
        in done.stdout
    )
    found = json.loads(path.read_text())
    assert set(found["versions"]) == {"tokenpace", "floor"}
    accuracy, ceiling = found["cells"].values()
    for rows in (accuracy, ceiling):
        for row in rows.values():
            assert row["requests ok"] == row["requests served"] > 0
            assert row["cpu us/chunk"] > 0
    assert abs(accuracy["tokenpace"]["each ttft p50"]) < 50
