"""Whose answers stand in the history of a conversation."""

from __future__ import annotations

from typing import Literal

History = Literal["live", "scripted"]
"""``live``: what the server really said. ``scripted``: what the source has, the same in every run."""
