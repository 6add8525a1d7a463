"""Cell suppression: which cells are not published so that no sensitive one can be worked out."""
