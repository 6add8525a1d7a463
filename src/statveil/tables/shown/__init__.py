"""Tables as a reader sees them: positions of a view, and frames of pandas, polars and Arrow."""
