"""How is Findspot reached? Surfaces translate and decide nothing."""
