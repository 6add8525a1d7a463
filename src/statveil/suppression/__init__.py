"""Cell suppression: sensitive cells to a pattern of cells that are not published."""
