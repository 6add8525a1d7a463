"""Quality-preserving adjustment (S1, METHODS 7): safe tables whose statistics still tell the truth."""
