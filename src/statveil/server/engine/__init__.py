"""The table server without its web: datasets, requests, answers."""
