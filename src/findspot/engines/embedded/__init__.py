"""The embedded engine: keywords (tantivy) and vectors in local files, searched in this process."""
