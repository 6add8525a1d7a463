"""Controlled rounding: every cell to a multiple of a base, every total still the sum of its parts."""
