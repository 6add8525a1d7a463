"""Ways to a pattern: each takes a reduced problem, or a table, and answers the cells to suppress."""
