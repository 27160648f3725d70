"""The `findspot` command. It speaks to a running server, or runs the same API in its own process."""
