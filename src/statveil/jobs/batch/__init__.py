"""Batch files of tau-ARGUS (.arb), run with our engine: read, refused where we cannot do what they say, then carried out."""
