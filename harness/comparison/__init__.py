"""Two runs, or two groups of runs, held against each other: is the second one worse by more than is allowed?

``Side`` (what was measured, from result folders or from a baseline) -> ``Effect`` of each ``Figure`` (its
change and how well it is known) -> verdict of each, with Holm's correction -> ``reports.comparison``.

All is computed from ``Sample``: counts of HDR buckets for each cell of neighbouring requests. It is what a
baseline keeps, so a comparison with a baseline gives the same numbers as one with its run.
"""
