"""How is a JSON text read and edited without changing the rest of it?

A table is stored as the text that was sent. Reading at a pointer returns a part of that text. An edit decodes only the
objects and lists on its path and keeps every other byte. So numbers, escapes and key order do not change.
"""
