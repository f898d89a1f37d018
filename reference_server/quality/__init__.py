"""How much of a model's quality a way of computing it keeps, against a reference, on a text."""
