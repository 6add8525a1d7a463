"""Lower bounds on networks: covers, polygons, capacities, and the coarse table."""
