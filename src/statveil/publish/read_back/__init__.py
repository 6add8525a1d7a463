"""Public files read back and compared with the table that is audited, by code that shares nothing with what wrote them."""
