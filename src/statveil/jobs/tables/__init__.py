"""A table from records to an audited release and its folder."""
