"""The version, alone so that anything may read it."""

VERSION = "0.1.0"
