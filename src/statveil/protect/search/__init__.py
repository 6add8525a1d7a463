"""Ways to choose the senses, one method a file: each offers tables and bounds until told to stop. `choose` says who runs when."""
