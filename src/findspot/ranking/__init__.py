"""Which is best, and why? Pure functions from what each leg recalled to one order that carries its reasons."""
