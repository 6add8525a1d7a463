"""The same problem with fewer cells and relations, and the way back."""
