"""Exact decimal numbers in text files, read and written by the million."""
