"""Which chunk is best, and why? Pure functions from the scores of both legs to one order with reasons."""
