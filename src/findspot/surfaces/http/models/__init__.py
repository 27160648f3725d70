"""The shapes of HTTP requests and answers that FastAPI does not parse or encode itself, as types.

A route builds its answer as one of these typed dictionaries; `openapi.py` describes them in the OpenAPI document.
"""
