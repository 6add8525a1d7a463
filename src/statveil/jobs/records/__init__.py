"""What surrounds a file of records: recodings tried by hand, the trade-off against blanks, perturbation, attacks on what was written."""
