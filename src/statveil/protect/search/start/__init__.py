"""First tables and first senses, before anything is improved."""
