"""The methods of S0, as the paper has them."""
