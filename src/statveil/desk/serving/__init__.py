"""A project whose job is a table server: its dataset, its measurements, its keys and its log."""
