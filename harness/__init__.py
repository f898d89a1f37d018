"""How load is sent, timed, recorded and judged."""

from importlib.metadata import version

__version__ = version("tokenpace")
