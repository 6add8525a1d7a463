"""Which suppressed cells a reader gets back: any pattern, ours or another tool's, in exact integers."""
