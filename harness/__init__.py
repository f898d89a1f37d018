"""How load is sent, timed, recorded and judged."""
