"""Two-way tables, with or without one hierarchy, as networks: one arc a cell, one node a relation (docs/science.md, section 3).

`engine` is the method `network`; `detect` tells whether a table is one; `bounds.lower_bound` leads its lower bounds.
"""
