"""A scenario at every point of a grid of its keys: each point an ordinary run, all of them in one table.

``Grid`` names the points, ``sweep`` runs them one after the other. All scenarios of a grid are made before
any load is sent, so that a value which can't be used is refused at once. Points that are on disk aren't run
again.
"""
