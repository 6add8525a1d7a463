"""Reports of safe files: the page, its charts, what was perturbed, the script that repeats it, the curve of risk and utility."""
