"""From what a command line names to a side: result folders, several of them, or a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.comparison.errors import ComparisonError
from harness.comparison.past_run import read_run
from harness.comparison.side import Side
from harness.result_folder import ResultFolder

if TYPE_CHECKING:
    from harness.comparison.baselines import Baselines


def side_of(text: str, baselines: Baselines) -> Side:
    """The runs that ``results/a``, ``results/a1,results/a2`` or the name of a baseline stands for.

    Raises:
        ComparisonError: There is neither such a folder nor such a baseline.
        HarnessError: A folder can't be read.
    """
    if text in baselines.names():
        if holds_a_run(text):
            raise ComparisonError(
                f"'{text}' is a result folder here, and a baseline of {baselines.folder}: write './{text}' "
                "for the folder, or rename it for the baseline"
            )
        return baselines.load(text)
    is_path = bool(text.strip()) and Path(text).exists()
    paths = [text] if is_path else [part.strip() for part in text.split(",") if part.strip()]
    if not paths:
        raise ComparisonError(
            "an empty name; give a result folder, several with commas between, or a baseline"
        )
    for path in paths:
        if not Path(path).exists():
            names = baselines.names()
            known = f"; baselines: {', '.join(names)}" if names else ""
            raise ComparisonError(
                f"{path}: neither a result folder nor a baseline of {baselines.folder}{known}"
            )
    if len({Path(path).resolve() for path in paths}) < len(paths):
        raise ComparisonError(f"{text}: a run counts once; name each folder once")
    runs = tuple(read_run(ResultFolder.open(Path(path))) for path in paths)
    return Side(_label(paths), runs)


def holds_a_run(path: str) -> bool:
    """Whether that is a result folder."""
    return ResultFolder(Path(path)).manifest_path.is_file()


def _label(paths: list[str]) -> str:
    first = Path(paths[0])
    name = (first.parent if first.is_file() else first).resolve().name
    return name if len(paths) == 1 else f"{name} and {len(paths) - 1} more"
