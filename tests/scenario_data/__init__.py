"""The rows behind `tests.scenarios`, one module for each requirement document."""
