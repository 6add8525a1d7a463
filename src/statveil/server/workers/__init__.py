"""The processes of a server: started together, replaced when one dies, stopped together."""
