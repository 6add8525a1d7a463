"""Tests of the protected cube."""
