"""A search for the capacity of a server: everything a report of it shows.

``search.Capacity`` is the frozen result, as ``capacity.json`` holds it; the other files show it.
"""
