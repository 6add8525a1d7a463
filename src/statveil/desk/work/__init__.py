"""What the processes do that the desk starts."""
