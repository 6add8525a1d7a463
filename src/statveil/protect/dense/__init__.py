"""Tables in which every combination of codes has a cell: sums along the axes of a tensor, no matrix (docs/methods.md, method `dense`)."""
