"""Texts of tokens that remember what followed what."""
