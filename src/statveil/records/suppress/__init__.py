"""Which values are blanked: exactly where it can be proved, under three rules about what a blank means."""
