"""What the command line and the server call: job files, whole runs from records to folder, and checks of what was written."""
