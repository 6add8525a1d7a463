"""Columns that are no keys, perturbed: noise, swapping, microaggregation, PRAM, coding of extremes."""
