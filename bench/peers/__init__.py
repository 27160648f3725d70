"""Findspot beside other products: the same chunks, the same vectors, the same queries."""
