"""Records to tables of cells: what is wanted (`spec`), adding up (`tabulate`), relations, linked tables."""
