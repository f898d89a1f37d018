"""A search as it is saved and shown."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from harness.campaign.folder import CampaignFolder
from harness.capacity.answer import answer
from harness.capacity.folder import SEARCH, probe_name
from harness.result_folder import ResultFolderError
from reports.capacity.console import show
from reports.capacity.files import write_files
from reports.capacity.search import Capacity, End, load
from reports.document import DocumentError
from reports.run_row import Latency

if TYPE_CHECKING:
    from pathlib import Path

    from harness.capacity.answer import Question
    from tests.unit.capacity.conftest import MakeLimits, MakeProbe

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def capacity(question: Question, make_limits: MakeLimits, make_probe: MakeProbe) -> Capacity:
    times = (Latency(name="ttft", p50=2e8, p95=4.5e8, p99=None),)
    probes = [
        make_probe(4, "PASS", number=1, latencies=times, achieved=3.9, goodput=3.8, attainment=0.97),
        make_probe(16, "FAIL", number=2, latencies=times, saturated=True, folder="probes/02-rate-16"),
        make_probe(8, "INCONCLUSIVE", number=3, more_needed=3),
        make_probe(9, "INVALID", number=4),
    ]
    return answer(question, make_limits(), probes, End.BUDGET)


def test_what_is_saved_is_what_is_read(tmp_path: Path, capacity: Capacity) -> None:
    folder = CampaignFolder(tmp_path / "search", SEARCH)
    assert folder.earlier(capacity) is None
    folder.save(capacity)
    assert folder.earlier(capacity) == capacity
    assert load(folder.result_path) == capacity
    assert CampaignFolder(tmp_path / "search", SEARCH).earlier(capacity) == capacity


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 99}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str, capacity: Capacity) -> None:
    (tmp_path / "capacity.json").write_text(text)
    with pytest.raises(ResultFolderError, match=r"capacity\.json.*give another folder"):
        CampaignFolder(tmp_path, SEARCH).earlier(capacity)


def test_another_version_is_refused(tmp_path: Path, capacity: Capacity) -> None:
    path = tmp_path / "capacity.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(capacity, schema_version=9)))
    with pytest.raises(DocumentError, match="version 9"):
        load(path)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ResultFolderError, match="holds other things"):
        CampaignFolder(tmp_path, SEARCH)


def test_a_probe_that_was_broken_off_keeps_its_place(tmp_path: Path) -> None:
    folder = CampaignFolder(tmp_path, SEARCH)
    first = folder.place(probe_name(5, 12.5, "load.rate"))
    assert first == tmp_path / "probes" / "05-rate-12.5"
    first.mkdir(parents=True)
    assert folder.place(probe_name(5, 12.5, "load.rate")).name == "05-rate-12.5-2"


def test_the_page_shows_the_answer_and_every_probe(tmp_path: Path, capacity: Capacity) -> None:
    html, markdown, table = (path.read_text() for path in write_files(capacity, tmp_path))
    assert capacity.sentence in html
    assert html.count('<span class="badge') == 4
    assert 'href="probes/02-rate-16/report.html"' in html
    assert "Do the objectives hold?" in html
    assert "http://" not in re.sub(r"http://127\.0\.0\.1:1/v1", "", html)
    assert "| 2 | FAIL | 16 |" in markdown
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["load"] for row in rows] == ["4", "8", "9", "16"]
    assert rows[0]["ttft_p95_ns"] == "450000000.0"
    assert rows[0]["ttft_p99_ns"] == ""


def test_B5_01_words_of_a_server_are_shown_literally(tmp_path: Path, capacity: Capacity) -> None:
    probes = tuple(msgspec.structs.replace(probe, reason=EVIL) for probe in capacity.probes)
    evil = msgspec.structs.replace(capacity, probes=probes, model=EVIL, sentence=EVIL)
    html, markdown, _ = (path.read_text() for path in write_files(evil, tmp_path))
    assert EVIL not in html
    assert html.count("</script>") == 2
    assert not re.search(r"(?<!\\)<", re.sub(r"`[^`]*`", "", markdown))


def test_pages_without_probes_can_be_made(
    tmp_path: Path, question: Question, make_limits: MakeLimits
) -> None:
    nothing = answer(question, make_limits(), [], End.INTERRUPTED, interrupted="SIGINT")
    html, _, _ = (path.read_text() for path in write_files(nothing, tmp_path))
    assert "INTERRUPTED" in html


def test_the_console_shows_all_probes(capacity: Capacity) -> None:
    for width in (80, 110):
        console = Console(width=width, record=True, file=None, quiet=False)
        with console.capture() as capture:
            show(capacity, console)
        text = capture.get()
        assert [text.count(word) for word in ("PASS", "FAIL", "INVALID")] == [1, 1, 1]
        assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_words_of_the_interval(question: Question, make_limits: MakeLimits, make_probe: MakeProbe) -> None:
    whole = make_limits(whole=True, lowest=1.0)
    probes = [make_probe(4, "PASS"), make_probe(5, "FAIL"), make_probe(4, "PASS"), make_probe(5, "FAIL")]
    found = answer(msgspec.structs.replace(question, unit="slots"), whole, probes, End.PRECISION)
    assert found.sentence == "The objectives hold up to 4 slots with 95 % confidence."
    lower = answer(question, make_limits(), [make_probe(4, "PASS")], End.BUDGET)
    assert "requests/s or more with 95 % confidence" in lower.sentence
    upper = answer(question, make_limits(), [make_probe(4, "FAIL")], End.BUDGET)
    assert "at most" in upper.sentence


def test_a_confidence_is_written_with_all_its_nines(
    question: Question, make_limits: MakeLimits, make_probe: MakeProbe
) -> None:
    found = answer(question, make_limits(confidence=0.99999), [make_probe(4, "PASS")], End.BUDGET)
    assert "or more with 99.999 % confidence" in found.sentence


@pytest.mark.parametrize(("fault", "begun"), [("gone", "gone. As"), ("gone; is it?", "gone; is it? As")])
def test_a_fault_ends_as_a_sentence_does(
    question: Question, make_limits: MakeLimits, make_probe: MakeProbe, fault: str, begun: str
) -> None:
    found = answer(question, make_limits(), [make_probe(4, "PASS")], End.INVALID, fault=fault)
    assert found.sentence.startswith(f"Broken off: {begun} far as the probes tell, the capacity is ")


def test_contradictions_are_told(question: Question, make_limits: MakeLimits, make_probe: MakeProbe) -> None:
    found = answer(question, make_limits(), [make_probe(8, "PASS"), make_probe(4, "FAIL")], End.BUDGET)
    assert "passed at 8 and one failed at 4" in found.notes[0]
