"""The laboratory: what an idea of serving is worth, measured on the bundled server with and without it.

An experiment is a YAML file: variants of the server, a scenario, points of a grid of its keys, and claims.
``Experiment`` is what it says; ``predictions`` what a model of costs expects; ``run_experiment`` starts the
server of one variant after the other, in alternating order, and sends it the scenario at every point;
``concluding`` compares the runs as ``tokenpace compare`` does and judges the claims. Those that come with the
product lie in ``experiments``.
"""
