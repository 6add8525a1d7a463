"""What products of signs prove: the part of the certificate checker that works out copies of a table."""
