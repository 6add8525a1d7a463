"""The classical methods beside adjustment: controlled rounding and the cell key method."""
