"""Attacks on one released table, one threat a file."""
