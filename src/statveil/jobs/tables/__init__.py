"""A table from records to an audited and attacked release."""
