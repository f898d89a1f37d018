"""A model that drafts: its weights, its keys and values, its passes."""
