"""One module per product. Each is used as its documentation recommends."""
