"""Reports in one HTML file that needs no network."""
