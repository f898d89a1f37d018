"""A scenario at every point of a grid: one table of all runs.

``table.Sweep`` is the frozen result, as ``sweep.json`` holds it; the other files show it.
"""
