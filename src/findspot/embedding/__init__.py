"""What does text mean? Embedders turn text into vectors. Heavy packages are imported where they are used, not here."""
