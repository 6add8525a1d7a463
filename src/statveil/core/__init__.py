"""What every folder may use: errors, arrays, limits, provenance, statistics. It imports nothing of ours."""
