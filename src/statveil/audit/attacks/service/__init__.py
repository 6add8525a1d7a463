"""Attacks on the server itself: its key and its side channels."""
