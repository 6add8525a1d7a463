"""Two-way tables, with or without a hierarchy in one variable, are networks (docs/science.md, section 3): one arc a cell, one node a
relation.
"""
