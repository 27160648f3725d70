"""Which chunks match a query? Engines index chunks by keywords and vectors, and recall candidates."""
