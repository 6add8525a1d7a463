"""The officer's desk: a local web application over the same jobs as the command line."""
