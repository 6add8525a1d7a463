"""The demonstration: an invented country, its enterprises, and the whole way to a published table."""
