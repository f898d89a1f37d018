"""How well a server's model expects a text, and how far that is from a reference: over HTTP.

tokens of the text (``reading``) -> a way to their log-probabilities (``ways``) -> ``scores`` -> ``figures``
"""
