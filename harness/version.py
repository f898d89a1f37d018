"""The version of tokenpace that is installed."""

from importlib.metadata import version

__version__ = version("tokenpace")
