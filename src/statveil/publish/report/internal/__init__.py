"""Parts of the internal edition that no reader may see: cells behind figures, intervals, two releases side by side."""
