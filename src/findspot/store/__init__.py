"""What is true? Everything Findspot knows stands here; every index is derived from it and can be rebuilt."""
