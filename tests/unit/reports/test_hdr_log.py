"""Logs of other tools are read to the figures those tools assert; our own are read back by the library."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from reports.hdr_codec import decode, encode, encode_payload
from reports.hdr_errors import DecodeError
from reports.hdr_log import HdrLogWriter, parse_log, read_log
from reports.hgrm import percentile_text
from reports.histogram import Histogram

DATA = Path(__file__).parents[2] / "data" / "hdr"
EXPECTED = json.loads((DATA / "expected.json").read_text())
SEQUENCE = Histogram(1, (1 << 63) - 1)
SEQUENCE.record_many(np.arange(100_000))


@pytest.mark.parametrize("expected", EXPECTED["logs"], ids=lambda log: log["file"])
def test_logs_of_every_version_give_the_expected_figures(expected: dict[str, float | str]) -> None:
    log = read_log(DATA / str(expected["file"]))
    total = log.accumulated()
    assert len(log.intervals) == expected["intervals"]
    assert total.n == expected["total_count"]
    if "p99_9" in expected:
        assert total.percentile(99.9) == expected["p99_9"]
    if "max" in expected:
        assert total.maximum == expected["max"]
    if "start_time_s" in expected:
        assert log.start_time_s == expected["start_time_s"]


@pytest.mark.parametrize(
    ("name", "num_intervals"), [("hiccup.140623.1028.10646.hlog", 11), ("raphael.hlog", 1)]
)
def test_older_logs_are_read_too(name: str, num_intervals: int) -> None:
    log = read_log(DATA / name)
    assert len(log.intervals) == num_intervals
    worst = max(interval.maximum for interval in log.intervals)
    assert log.total().maximum / 1e6 == pytest.approx(worst, rel=0.05)


def test_tags_part_a_log() -> None:
    log = read_log(DATA / "tagged-Log.logV2.hlog")
    assert log.tags() == {None, "A"}
    assert np.array_equal(log.tagged(None).total().counts, log.tagged("A").total().counts)


@pytest.mark.parametrize("name", EXPECTED["malformed"])
def test_malformed_logs_give_typed_errors(name: str) -> None:
    with pytest.raises(DecodeError, match=rf"{name}: line 1: "):
        read_log(DATA / name)


def test_payload_matches_the_java_encoder_byte_for_byte() -> None:
    assert encode_payload(SEQUENCE) == (DATA / "seq-nums.hist").read_bytes()


@pytest.mark.parametrize("name", ["seq-nums.hist", "seq-nums.histz"])
def test_binary_forms_decode_to_the_same_counts(name: str) -> None:
    assert np.array_equal(decode((DATA / name).read_bytes()).counts, SEQUENCE.counts)


def test_histograms_encoded_by_the_c_library() -> None:
    plain, corrected = (decode(sample["b64"]) for sample in EXPECTED["encoded_samples_from_C"])
    assert plain.n == 10_001
    assert plain.value_at_rank(10_000) == 1_000
    assert plain.maximum == pytest.approx(100_000_000, rel=1e-3)
    assert corrected.n > plain.n


@pytest.mark.parametrize("damage", [slice(0, 7), slice(0, 40), slice(8, None), slice(0, -4)])
def test_damaged_text_is_a_typed_error(damage: slice) -> None:
    text = EXPECTED["encoded_samples_from_C"][0]["b64"]
    with pytest.raises(DecodeError):
        decode(text[damage])


def test_any_damaged_byte_is_decoded_or_refused_but_never_crashes() -> None:
    payload = bytearray((DATA / "seq-nums.hist").read_bytes()[:300])
    payload[4:8] = (260).to_bytes(4, "big")
    for at in range(300):
        for flipped in (payload[at] ^ 0xFF, payload[at] ^ 0x10):
            damaged = bytes(payload[:at]) + bytes([flipped]) + bytes(payload[at + 1 :])
            try:
                decode(damaged)
            except DecodeError:
                continue


def test_our_log_is_read_by_the_library_and_by_us(tmp_path: Path) -> None:
    ttft, gaps = Histogram(), Histogram()
    ttft.record_many(np.array([48_000, 52_000, 61_000]))
    gaps.record_many(np.arange(9_000, 12_000))
    path = tmp_path / "run.hlog"
    with path.open("w", encoding="utf-8") as file:
        writer = HdrLogWriter(file, 1_700_000_000.5, "a run\nof two lines")
        writer.write(ttft, 0.0, 1.0, "TTFT")
        writer.write(gaps, 1.0, 1.0, "ITL")
        writer.write(Histogram(), 2.0, 1.0)
    log = read_log(path)
    assert [interval.tag for interval in log.intervals] == ["TTFT", "ITL", None]
    assert [log.epoch_s(interval) - 1_700_000_000.5 for interval in log.intervals] == [0.0, 1.0, 2.0]
    assert log.intervals[0].maximum == 61.0
    assert np.array_equal(log.tagged("ITL").total().counts, gaps.counts)
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    read = reader.get_next_interval_histogram(range_start_time_sec=0, absolute=False)
    reader.close()
    assert (read.get_tag(), read.get_total_count()) == ("TTFT", 3)


@pytest.mark.parametrize("tag", ["", "a b", "a,b", "a\nb"])
def test_a_tag_that_would_break_the_line_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        HdrLogWriter(io.StringIO(), 0, "x").write(Histogram(), 0, 1, tag)


def test_absolute_times_are_told_from_relative_ones() -> None:
    start = "#[StartTime: 1438613579.295 (seconds since epoch)]\n"
    blob = encode(Histogram())
    relative, absolute = (parse_log(f"{start}{t},1,0,{blob}\n") for t in ("0.5", "1438613580.0"))
    assert relative.epoch_s(relative.intervals[0]) == pytest.approx(1438613579.795)
    assert absolute.epoch_s(absolute.intervals[0]) == 1438613580.0


def test_percentile_text_has_the_figures_of_the_histogram() -> None:
    """Every line is the sample of its rank; the last line is the exact maximum."""
    samples = np.random.default_rng(3).lognormal(10, 1, 5_000).astype(np.int64)
    ours = Histogram()
    ours.record_many(samples)
    rows = [line.split() for line in percentile_text(ours).splitlines() if line and line[0] == " "][1:]
    assert len(rows) > 40
    assert rows[0][1] == "0.000000000000"
    for value, share, count, *_ in rows[1:-1]:
        rank = math.ceil(float(share) * 5_000 - 1e-6)
        assert float(value) == ours.value_at_rank(rank) / 1_000
        assert int(count) >= float(share) * 5_000
    assert rows[-1] == [f"{samples.max() / 1_000:.3f}", "1.000000000000", "5000"]


def test_percentile_text_of_nothing_is_readable() -> None:
    assert "Total count    =            0" in percentile_text(Histogram())
