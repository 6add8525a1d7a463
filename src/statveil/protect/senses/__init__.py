"""Ways to choose the senses, one a file. Each is a function of a `Search`: it offers tables and bounds until told to stop."""
