"""What a file's path may be: a file, a link, a pipe, a device, our own output, a folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reports.whole_file import whole, write_text


def _fifo(path: Path) -> tuple[list[str], threading.Thread]:
    """A pipe with a reader, and what that has read once it is joined."""
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    return read, reader


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), whole(path) as temporary:
        temporary.write_text("half: \udc80", encoding="utf-8")
    assert path.read_text() == "before"
    write_text(path, "after")
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, *, exists: bool) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    second = tmp_path / "second"
    if exists:
        target.write_text("before")
    link.symlink_to(Path("there") / "target")
    second.symlink_to(link)
    write_text(second, "after")
    assert (link.is_symlink(), second.is_symlink()) == (True, True)
    assert target.read_text() == "after"
    assert list(target.parent.iterdir()) == [target]


def test_a_link_that_leads_to_itself_is_an_error_of_files(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        write_text(link, "x")


@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_s_reader_gets_all(tmp_path: Path, *, through_a_link: bool) -> None:
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    link.symlink_to(fifo)
    read, reader = _fifo(fifo)
    write_text(link if through_a_link else fifo, "all of it" * 20_000)
    reader.join(timeout=20)
    assert read == ["all of it" * 20_000]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [fifo, link]


def test_a_pipe_gets_nothing_of_what_fails(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnicodeEncodeError), whole(fifo) as temporary:
        temporary.write_text("half: \udc80", encoding="utf-8")
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        node.read_bytes()
    except PermissionError:
        pytest.skip("no devices may be made, or used, here")
    write_text(node, "gone")
    assert stat.S_ISCHR(node.stat().st_mode)
    assert list(tmp_path.iterdir()) == [node]


@pytest.mark.parametrize("name", ["", ".", "folder", "link"])
def test_a_folder_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("link").symlink_to("folder")
    with pytest.raises(IsADirectoryError):
        write_text(Path(name), "x")
    assert sorted(map(str, Path().iterdir())) == ["folder", "link"]


def test_own_output_is_written_after_what_stands_there(tmp_path: Path) -> None:
    """``--json /dev/stdout > file``, by a link that leads there as that one does."""
    out, link = tmp_path / "out", tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    code = (
        "import sys; from pathlib import Path; from reports.whole_file import write_text\n"
        "print('first', flush=True)\n"
        "write_text(Path(sys.argv[1]), 'second\\n')\n"
        "print('third')"
    )
    with out.open("w") as file:
        subprocess.run([sys.executable, "-c", code, str(link)], stdout=file, check=True, timeout=60)
    assert out.read_text() == "first\nsecond\nthird\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(link)], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout == "first\nsecond\nthird\n"
