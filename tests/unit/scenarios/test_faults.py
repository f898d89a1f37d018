"""The texts of mistakes: each names the place, the dotted key, the fault and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scenarios import arrivals
from scenarios.errors import ScenarioError
from scenarios.scenario import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
name: mine
load:
  arrivals: poisson
  rate: 4
  duration: 30s
prompts:
  source: text
  text: Hi
sampling:
  max_tokens: 8
"""


def _fault(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    return str(caught.value).replace(f"{folder}/", "")


def test_good_scenario_has_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_scenario(path).name == "mine"


MISTAKES = [
    ("rate: 4", "rat: 4", ":4: load.rat: no such key of poisson; did you mean 'rate'?"),
    ("rate: 4", "qps: 4", ":4: load.qps: no such key of poisson; did you mean 'rate'?"),
    ("prompts:", "prompt:", ":6: prompt: no such key; did you mean 'prompts'?"),
    ("sampling:", "thresolds:", ":9: thresolds: no such key; did you mean 'thresholds'?"),
    ("sampling:", "slo:", ":9: slo: no such key; did you mean 'thresholds'?"),
    ("poisson", "poison", ":3: load.arrivals: 'poison' is unknown; did you mean 'poisson'?"),
    (
        "poisson",
        "weibull",
        f":3: load.arrivals: 'weibull' is unknown; known: {', '.join(arrivals.kinds.names)}",
    ),
    ("source: text", "source: txt", ":7: prompts.source: 'txt' is unknown; did you mean 'text'?"),
    ("  rate: 4\n", "", ":2: load.rate: missing; for example rate: 4"),
    ("  arrivals: poisson\n", "", f":2: load.arrivals: missing; one of {', '.join(arrivals.kinds.names)}"),
    (
        "name: mine",
        "name: ../x",
        ":1: name: '../x' can't name a folder; use letters, digits, '-', '_' and '.'",
    ),
    ("name: mine\n", "", ": name: missing; for example name: chat"),
    ("30s", "30", ":5: load.duration: 30 has no unit; write 30s for seconds or 30ms for milliseconds"),
    (
        "30s",
        "30 secs",
        (
            ":5: load.duration: '30 secs' is not a duration; write a number and a unit of ns, us, ms, s,"
            " m, h, such as 500ms, 1.5s or 1h30m"
        ),
    ),
    (
        "rate: 4",
        "rate: fast",
        ":4: load.rate: 'fast' is not a rate; write 5 (per second), 5/s, 300/m or 100/h",
    ),
    ("rate: 4", "rate: -1", ":4: load.rate: -1: a rate must be finite and greater than 0"),
    ("rate: 4", "rate: .inf", ":4: load.rate: inf: a rate must be finite and greater than 0"),
    ("  duration: 30s\n", "", ":2: load: has no end; give duration: 30s, or requests: 100, or both"),
    ("duration: 30s", "requests: 5.5", ":5: load.requests: must be a whole number, not 5.5"),
    ("text: Hi", "text: 5", ":8: prompts.text: must be a text or a list of texts, not 5"),
    ("text: Hi", "text: [a, 5]", ":8: prompts.text[1]: must be text, not 5"),
    (
        "max_tokens: 8",
        "max_tokens: 0",
        (":10: sampling.max_tokens: must be a whole number of at least 1, or {mean, stdev, min, max}; not 0"),
    ),
    ("max_tokens: 8", "max_tokns: 8", ":10: sampling.max_tokns: no such key; did you mean 'max_tokens'?"),
    ("max_tokens: 8", "top_p: 2", ":10: sampling.top_p: must be less than or equal to 1, not 2"),
    (
        "name: mine",
        "name: mine\nschema: 2",
        ":2: schema: version 2 is unknown; this tokenpace reads version 1",
    ),
    ("name: mine", "name: mine\nendpoint: chats", ":2: endpoint: 'chats' is unknown; did you mean 'chat'?"),
    (
        "name: mine",
        "name: mine\nconfidence: 95",
        ":2: confidence: 95: a share lies between 0 and 1 (0% and 100%)",
    ),
    (
        "name: mine",
        "name: mine\ntimeouts: {total: 0s}",
        (":2: timeouts.total: must be longer than 0; a request without a limit could hold a run for ever"),
    ),
    ("name: mine", "name: mine\ntimeouts: 30s", ":2: timeouts: must be a section with keys, not '30s'"),
    (
        "name: mine",
        f"name: {'m' * 101}",
        ":1: name: has 101 characters; it names a folder and may have 100",
    ),
    ("  rate: 4", "  rate: 4\n  rate: 5", ":5: load.rate: already set in line 4"),
    (
        "name: mine",
        "name: mine\non: 5",
        ":2: top level: the key 'on' is no plain word in YAML; put it in quotes",
    ),
    (
        "name: mine",
        "name: mine\nthresholds:\n  goodput: > 0.9",
        (
            ":3: not valid YAML: expected a comment or a line break, but found '0', column 14; put a "
            "value that begins with > or | in quotes"
        ),
    ),
    ("sampling:", "---\nsampling:", ":9: a second document; a scenario is one, without ---"),
    ("rate: 4", "rate: [4", ":5: not valid YAML: expected ',' or ']', but got ':', column 11"),
    (
        "rate: 4",
        "\trate: 4",
        ":4: not valid YAML: found character '\\t' that cannot start any token, column 3",
    ),
    ("source: text\n  text: Hi", "source: jsonl\n  file: none.jsonl", ":8: prompts.file: no file none.jsonl"),
]


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES)
def test_message(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert _fault(tmp_path, GOOD.replace(old, new, 1)) == f"mine.yaml{expected}"


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("rate: 4", "rat: 4").replace("max_tokens: 8", "top_k: high")
    assert _fault(tmp_path, text) == (
        "mine.yaml:4: load.rat: no such key of poisson; did you mean 'rate'?\n"
        "mine.yaml:10: sampling.top_k: must be a whole number, not 'high'"
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "", "a.yaml: holds no scenario; write keys such as load: and prompts:"),
        ("a.yaml", "- 1\n", "a.yaml: holds no scenario; write keys such as load: and prompts:"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "a.yaml:2: a second document; a scenario is one, without ---"),
        ("a.yaml", "a: &x [*x]\n", "a.yaml:1: a: no such key; known: "),
        (
            "a.toml",
            "a = 1\na = 2\n",
            "a.toml: not valid TOML: Cannot overwrite a value (at line 2, column 6)",
        ),
        (
            "a.toml",
            "[load]\nrat = 1\n",
            "a.toml: prompts: missing; for example prompts: {source: synthetic, length: 200}",
        ),
        ("a.json", "{}", "a.json: unknown kind of file; a scenario ends in .yaml, .yml or .toml"),
    ],
)
def test_file_that_is_none_of_ours(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert expected in _fault(tmp_path, text, name)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere\.yaml: can't be read: No such file or directory"):
        load_scenario(tmp_path / "nowhere.yaml")


def test_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(ScenarioError, match=r"a\.yaml: not UTF-8 text \(byte 6\)"):
        load_scenario(tmp_path / "a.yaml")


def test_nested_aliases_cost_nothing(tmp_path: Path) -> None:
    """Nine levels of ten aliases each would be a thousand million entries if walked."""
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    text = "l0: &l0 [x]\n" + "\n".join(levels) + "\n"
    assert "l9: no such key" in _fault(tmp_path, text)


def test_path_of_a_library_scenario_that_is_elsewhere() -> None:
    with pytest.raises(ScenarioError, match=r"^nowhere/chat\.yaml: no such file; the library has 'chat'$"):
        load_scenario("nowhere/chat.yaml")


def test_folder_of_that_name_does_not_hide_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smoke").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_scenario("smoke").name == "smoke"


def test_name_that_is_not_in_the_library() -> None:
    with pytest.raises(ScenarioError, match="no scenario 'chatt' in the library; did you mean 'chat'"):
        load_scenario("chatt")
