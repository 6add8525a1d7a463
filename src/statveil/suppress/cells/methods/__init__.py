"""The methods that offices know by name, each by its own rules; what those leave open is mended, and all are audited."""
