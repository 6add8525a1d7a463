"""Sensitive cells to a protected table: controlled tabular adjustment. The verb is `adjust`."""
