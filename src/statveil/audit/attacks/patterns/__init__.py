"""An attacker on a table with suppressed cells: how far each can be from its value, by linear programs."""
