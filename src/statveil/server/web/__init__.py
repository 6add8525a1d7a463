"""The web application: middleware, API, pages."""
