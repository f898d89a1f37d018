"""The capacity of a server: the highest load at which the objectives of a scenario hold.

``Axis`` says what is varied, ``Budget`` what may be spent, ``Search`` which load comes next, a ``Prober``
runs it, and ``find_capacity`` goes round until the answer is known or the budget is spent. A probe is an
ordinary run with a result folder of its own. What has been learnt is a function of the probes alone
(``knee``), so a search that was broken off goes on from those on disk.
"""
