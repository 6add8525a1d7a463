"""What keeping statistics costs (S1 section 5, paragraph 35): audited tables from the least total change to the least distortion."""
