"""What answers requests: cubes by dataset, the paper's mode, slices with their notes, restarts."""
