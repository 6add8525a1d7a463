"""Checks of what the classical methods make: rounded tables, counts and magnitudes perturbed by cell keys."""
