"""Data files of a release: CSV, Parquet, JSON-stat, SDMX, PC-Axis, Excel."""
