"""Two-way tables, with or without a hierarchy in one variable, are networks (docs/science.md, section 3): one arc a cell, one node a
relation. `engine` is the method `network`; `detect` tells whether a table is one; `bounds.lower_bound` leads its lower bounds.
"""
