"""The report on a safe file."""
