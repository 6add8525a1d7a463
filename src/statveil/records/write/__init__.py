"""The safe file on disk: CSV, Parquet, SPSS, Stata."""
