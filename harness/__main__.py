"""The command ``tokenpace``, also as ``python -m harness``: nothing but the net under what it imports."""

import sys


def main() -> None:
    """Entry point: ``harness.cli.main``, of which a Ctrl-C while it is imported makes no traceback."""
    try:
        from harness.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("tokenpace: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
