"""Release -> reader: data files and the report. Nothing here sees a table whose audit has not passed."""
