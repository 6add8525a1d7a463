"""Methods of our own: first senses by annealing and messages, and local search from a safe table to a better one."""
