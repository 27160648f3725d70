"""The HTTP API: routes, access rules, errors and the OpenAPI document."""
