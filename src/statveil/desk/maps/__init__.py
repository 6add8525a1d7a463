"""The table as a map, the card of a cell, and what a run released."""
