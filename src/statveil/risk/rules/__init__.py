"""The sensitivity rules (docs/rules.md)."""
