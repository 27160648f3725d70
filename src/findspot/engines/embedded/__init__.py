"""An engine in this process, on files of its own: words in tantivy and vectors. See docs/embedded-engine.md."""
