"""How does a person or a script use Findspot? The `findspot` command, a client of the API.

It calls a running server, or opens the API in its own process.
"""
