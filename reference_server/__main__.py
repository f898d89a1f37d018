"""``python -m reference_server``."""

from reference_server.cli import main

main()
