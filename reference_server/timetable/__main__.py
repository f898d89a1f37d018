"""``python -m reference_server.timetable``."""

from __future__ import annotations

import sys

from reference_server.timetable.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "python -m reference_server.timetable"))
