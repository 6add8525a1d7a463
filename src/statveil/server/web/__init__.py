"""The web application: middleware, API, pages, and the queue of tables in the making."""
