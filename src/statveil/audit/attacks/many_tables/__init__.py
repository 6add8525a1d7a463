"""Attacks that ask for many tables and combine the answers, one threat a file."""
