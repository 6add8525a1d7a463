"""Independent checks, in exact integers. Shares no code with what it checks, and imports neither `protect` nor `records`."""
