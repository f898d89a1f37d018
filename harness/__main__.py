"""The command ``tokenpace``, also as ``python -m harness``: nothing but the net under what it imports."""

import signal
import sys
from typing import Any

_AGAIN_S = 0.01


def main() -> None:
    """Entry point: ``harness.cli.main``, of which a Ctrl-C while it is imported makes no traceback."""
    sys.unraisablehook = _on_unraisable
    try:
        from harness.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("tokenpace: interrupted\n")
        sys.exit(130)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _on_unraisable(unraisable: Any) -> None:  # noqa: ANN401 (a type that only checkers know)
    """A Ctrl-C that fell into a callback of the interpreter, of which imports have many, comes again."""
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


if __name__ == "__main__":
    main()
