"""Files that hold linear systems, solutions, certificates, and what tau-ARGUS reads and writes."""
