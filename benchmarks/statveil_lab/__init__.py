"""Benchmarks that users can repeat: our methods beside a plain solver on the same tables, machine and time."""
