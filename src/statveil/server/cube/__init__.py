"""The server as one protected cube: adjusted smallest cells, of which every answer is a sum (docs/server-protection.md)."""
