"""A dataset and what can be asked of it: records as keyed numbers, dimensions with their levels, requests."""
