"""What does text mean? Embedders turn text into vectors. Heavy packages are imported only where they are used."""
