"""All queries on records, one module a purpose: the folders above ask in plain arguments and never see the engine's language."""
