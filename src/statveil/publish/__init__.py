"""Releases to readers. A `Release` or `FileRelease` cannot exist unless its audit passed; only they are written."""
