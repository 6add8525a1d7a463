"""A small safe language for conditions and derived columns: text to a tree. What a tree means to the engine is in data/queries/."""
