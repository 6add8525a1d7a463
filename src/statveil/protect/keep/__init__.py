"""Quality-preserving adjustment (S1, docs/science.md, section 7): safe tables whose statistics still tell the truth."""
