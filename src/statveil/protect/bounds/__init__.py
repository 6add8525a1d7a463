"""Lower bounds on the cost of any safe table, and the certificates that prove them."""
