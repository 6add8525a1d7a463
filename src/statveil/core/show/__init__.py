"""How results show themselves, and how they leave as frames."""
