"""The table server: any table on request, protected at once, never contradicting what it said before (S2 section 4)."""
