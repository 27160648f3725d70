"""What does a JSON text hold, and how is it changed without touching the rest of it?

A table is kept as the text that was sent. Reading at a pointer cuts a piece out of that text; an edit opens only the
objects and lists on its path and leaves every other byte alone. So numbers, escapes and key order survive untouched.
"""
