"""The rows behind `tests.scenarios`: a module for each requirement document, three for the longest."""
