"""When no safe table exists: the proof in words, and the cheapest repair."""
