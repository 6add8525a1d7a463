"""Tables to sensitive cells: which are sensitive, why, and how far each must move (`assess`)."""
