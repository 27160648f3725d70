"""What is stored? All data that cannot be computed from other data. Every index is derived from it."""
