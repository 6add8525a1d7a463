"""The store: what was published, for ever. One protocol; SQLite by default, PostgreSQL by its address."""
