"""One call per job. The command line, the server and the page call this and nothing deeper."""
