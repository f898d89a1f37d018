"""Stop strings in a text that comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_server.text.stop_strings import StopStrings


def feed(stops: list[str], pieces: list[str], *, include: bool = False) -> tuple[list[str], str | None]:
    """All that is let through, piece by piece, and the match."""
    watcher = StopStrings(stops, include)
    return [*map(watcher.push, pieces), watcher.flush()], watcher.matched


def test_C1_03_what_became_no_stop_string_is_shown_at_the_end() -> None:
    assert feed(["END"], ["THE", " EN"]) == (["TH", "E ", "EN"], None)


def test_C1_03_only_a_true_prefix_is_held() -> None:
    """All else goes out at once, although a stop string of nine characters is watched for."""
    shown, _ = feed(["</answer>"], ["hello", " <", "b>", "</ans", "wer!"])
    assert shown == ["hello", " ", "<b>", "", "</answer!", ""]


@pytest.mark.parametrize("stops", [["ab", "abc"], ["abc", "ab"]])
@pytest.mark.parametrize("pieces", [["xabcd"], ["xa", "bcd"], list("xabcd")])
def test_C1_03_the_earliest_match_wins(stops: list[str], pieces: list[str]) -> None:
    """Of two with a shared beginning the shorter, whatever their order and however the text is cut."""
    shown, matched = feed(stops, pieces)
    assert ("".join(shown), matched) == ("x", "ab")


@pytest.mark.parametrize("pieces", [["a世界b"], list("a世界b")])
def test_C1_03_a_stop_string_of_many_bytes(pieces: list[str]) -> None:
    assert "".join(feed(["世界"], pieces)[0]) == "a"


def test_the_stop_string_is_included_if_asked_for() -> None:
    shown, matched = feed(["END"], ["the E", "ND of it"], include=True)
    assert ("".join(shown), matched) == ("the END", "END")


def test_nothing_follows_a_match() -> None:
    assert feed(["."], ["a.", "b", "."])[0] == ["a", "", "", ""]


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        StopStrings(["a", ""])


def char_by_char(stops: list[str], text: str) -> tuple[str, str | None]:
    """The slow specification: look at every beginning of the text."""
    for end in range(1, len(text) + 1):
        matches = [stop for stop in stops if text[:end].endswith(stop)]
        if matches:
            longest = max(matches, key=len)
            return text[: end - len(longest)], longest
    return text, None


@given(
    stops=st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=4),
    pieces=st.lists(st.text("abc", max_size=6), max_size=8),
)
def test_C1_03_equal_to_the_specification_however_cut(stops: list[str], pieces: list[str]) -> None:
    shown, matched = feed(stops, pieces)
    assert ("".join(shown), matched) == char_by_char(stops, "".join(pieces))


@given(stops=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1), text=st.text("abc", max_size=20))
def test_C1_03_what_is_held_begins_a_stop_string(stops: list[str], text: str) -> None:
    watcher = StopStrings(stops)
    shown = watcher.push(text)
    held = text[len(shown) :]
    assert watcher.matched is not None or held == "" or any(s.startswith(held) and s != held for s in stops)
