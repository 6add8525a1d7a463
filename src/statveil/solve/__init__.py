"""Arrays in, outcome out: solvers behind adapters, each in one file, and the processes they run in. Knows nothing of statistics."""
