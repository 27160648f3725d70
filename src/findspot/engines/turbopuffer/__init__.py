"""The turbopuffer engine: chunks in namespaces of a service. See docs/turbopuffer.md."""
