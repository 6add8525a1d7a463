"""The methods of an office side by side on one table: adjustment, kept statistics, suppression, rounding, cell key."""
