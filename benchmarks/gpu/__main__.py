"""What a GPU does: kernels, bandwidth, steps, tokens per second beside transformers, printed and as JSON.

    benchmarks/gpu.sh [--quick] [--json gpu.json]

A model with SmolLM2-1.7B's shape and seeded random weights in bfloat16. Times are medians, of CUDA events or
of the host's clock around whole steps. Each part that fails is told and leaves the others alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environment
import kernels
import roofline
import steps
import throughput

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET_S = 300.0


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a smaller model, fewer repetitions")
    parser.add_argument("--json", type=Path, default=Path("gpu.json"), help="where the figures go")
    return parser.parse_args()


def main() -> int:
    """Run all parts, as far as the time allows."""
    options = parse()
    found: dict[str, Any] = {"environment": environment.describe()}
    if not found["environment"]["device"]:
        print("torch finds no CUDA device: there is nothing to measure")
        return 1
    began, failed = time.monotonic(), []
    parts: dict[str, Callable[[dict[str, Any], bool], dict[str, Any]]] = {
        "roofline": roofline.measure,
        "kernels": kernels.measure,
        "steps": steps.measure,
        "throughput": throughput.measure,
    }
    for name, measure in parts.items():
        if time.monotonic() - began > BUDGET_S:
            found[name] = {"left_out": "the time was used up"}
        else:
            found[name] = attempt(measure, found, options.quick)
        failed += [name] if "error" in found[name] else []
        show(name, found[name])
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    print(f"\n{time.monotonic() - began:.0f} s; written to {options.json}")
    return 1 if failed else 0


def attempt(
    measure: Callable[[dict[str, Any], bool], dict[str, Any]], found: dict[str, Any], quick: bool
) -> dict[str, Any]:
    """A part's figures, or what went wrong."""
    try:
        return measure(found, quick)
    except Exception as error:  # noqa: BLE001  # whatever a driver or a peer raises, the other parts go on
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


def show(name: str, figures: dict[str, Any], indent: str = "") -> None:
    """Print figures, one a line."""
    print(f"{indent}{name}" if indent else f"\n== {name}")
    for key, value in figures.items():
        if isinstance(value, dict):
            show(key, value, indent + "  ")
        else:
            print(
                f"{indent}  {key:<38} {value:,.4g}"
                if isinstance(value, float)
                else f"{indent}  {key:<38} {value}"
            )


if __name__ == "__main__":
    sys.exit(main())
