"""A file of records from job to audited folder."""
