"""How do other frameworks retrieve from Findspot? Thin clients of the HTTP API, each an optional extra."""
