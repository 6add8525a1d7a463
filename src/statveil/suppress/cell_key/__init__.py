"""The cell key method: noise drawn by the records of a cell, from a table of probabilities of most entropy."""
