"""Two-way tables, with or without a hierarchy in one variable, are networks (METHODS 3): one arc a cell, one node a relation."""
