"""The methods of S0 and S3, as the papers have them."""
