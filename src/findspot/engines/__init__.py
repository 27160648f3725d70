"""What is near? Engines keep chunks by their words and vectors, and recall the ones that a query may mean."""
