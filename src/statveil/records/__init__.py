"""Records to a safe file: the cheapest mix of recoding and suppression (S4)."""
