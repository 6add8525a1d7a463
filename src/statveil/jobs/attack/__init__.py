"""Release folders and linear systems as targets of the attacks."""
