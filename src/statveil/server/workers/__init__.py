"""The processes of a server and what they share: start, pool, queue, cache."""
