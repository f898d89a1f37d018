"""Objectives: how they are written, and how a run is judged by them."""
