"""How an answer is protected: two stages, the settled reference, the differencing guard."""
