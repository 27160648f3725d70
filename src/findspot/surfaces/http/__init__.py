"""HTTP: the API, its access rules, its errors."""
