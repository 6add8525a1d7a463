"""Local search: from a safe table to a better one."""
