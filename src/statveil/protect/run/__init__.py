"""What surrounds a search: the parent that verifies every table, and loops compiled before the clock starts."""
