"""An engine in this process, on files of its own: words in tantivy, vectors beside them. See docs/embedded-engine.md."""
