"""The tabu search of S1 section 4 on the true statistics."""
