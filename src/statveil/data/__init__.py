"""Records in: readers, trees of codes, and the engine that queries run on."""
