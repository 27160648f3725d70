"""The OpenAPI document: every request, answer and error of every route, from the types that the routes declare."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Literal

from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from findspot import __version__
from findspot.errors import KINDS
from findspot.surfaces.http.models.errors import ApiError
from findspot.surfaces.http.models.json import JsonValue
from findspot.surfaces.http.router import GuardedRoute, Media

_REF = "#/components/schemas/{model}"
_JSON = "application/json"
_MODE: Literal["validation"] = "validation"  # requests and answers look the same: the types have no defaults
_BYTES = {"type": "string", "format": "binary"}
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A project's key, or the owner's token."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in another header."},
    "endpointKey": {"type": "http", "scheme": "bearer", "description": "The key of the MCP endpoint."},
}
_HEADERS = {
    "If-Match": "The revision that the change is based on; 412 if the table or document has moved on.",
    "Accept-Language": "The language of notices: English or Chinese.",
}
_TAGS = {
    "home": "Signing out.",
    "operations": "Health, metrics, backup and this description.",
    "projects": "Projects, their keys and their status.",
    "tables": "JSON tables.",
    "documents": "Documents and their versions.",
    "transfer": "Import and export.",
    "tools": "Tools: what an agent may do with a table.",
    "mcp": "MCP endpoints and the tools that are bound to them.",
    "workspace": "Search over the documents of a project.",
    "retrieval": "Passages and context for a language model.",
    "replacing": "Search and replace in the documents of a project.",
    "agents": "MCP itself.",
}


def describe(routes: Iterable[GuardedRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of these routes."""
    shown = [route for route in routes if not route.described.hidden]
    document = get_openapi(
        title="Findspot",
        version=__version__,
        description="Search huge JSON and long documents; get the passage and its exact position.",
        routes=shown,
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
    )
    schemas = _Schemas(shown)
    known = document["components"]["schemas"]
    for replaced in ("HTTPValidationError", "ValidationError"):
        known.pop(replaced, None)
    clashes = [name for name in known.keys() & schemas.definitions if known[name] != schemas.definitions[name]]
    clashes += [name for name in schemas.definitions if "__" in name]  # pydantic adds the module where two names clash
    if clashes:
        raise ValueError(f"two types have one name in OpenAPI: {', '.join(sorted(clashes))}")
    document["components"]["schemas"] = dict(sorted({**known, **schemas.definitions}.items()))
    _name_any_value(known, schemas.of(JsonValue))
    document["components"]["securitySchemes"] = _SECURITY
    for route in shown:
        operation = document["paths"][route.path][route.method.lower()]
        operation["responses"] = dict(_responses(route, schemas))
        operation["security"] = _security(route)
        if route.described.takes is not None:
            content = schemas.content(route.described.takes)
            operation["requestBody"] = {"required": True, "content": content}
        if route.described.headers:
            operation.setdefault("parameters", []).extend(map(_header, route.described.headers))
    return document


class _Schemas:
    """The JSON schemas of all declared types, generated at once so that each has one name."""

    def __init__(self, routes: Iterable[GuardedRoute]) -> None:
        wanted = {repr(each): each for each in [ApiError, JsonValue, *_declared(routes)]}
        adapters = [(key, _MODE, TypeAdapter(each)) for key, each in wanted.items()]
        found, rest = TypeAdapter.json_schemas(adapters, ref_template=_REF)
        self._found = {key: schema for (key, _), schema in found.items()}
        self.definitions: dict[str, Any] = rest["$defs"]

    def of(self, declared: Any) -> dict[str, Any]:
        """Return the schema of a type, or of bytes for None."""
        return _BYTES if declared is None else dict(self._found[repr(declared)])

    def content(self, declared: Any) -> dict[str, Any]:
        """Return the `content` of a request or answer."""
        return {media: {"schema": self.of(each)} for media, each in _contents(declared).items()}


def _declared(routes: Iterable[GuardedRoute]) -> Iterator[Any]:
    for route in routes:
        for declared in (*route.described.answers.values(), route.described.takes):
            if declared is not None:
                yield from (each for each in _contents(declared).values() if each is not None)


def _contents(declared: Any) -> Mapping[str, Any]:
    return declared.contents if isinstance(declared, Media) else {_JSON: declared}


def _responses(route: GuardedRoute, schemas: _Schemas) -> Iterator[tuple[str, dict[str, Any]]]:
    errors: dict[int, list[str]] = {}
    for code in route.codes:
        errors.setdefault(KINDS[code].status, []).append(code)
    answers = route.described.answers
    for status in sorted({*answers, *errors}):
        response: dict[str, Any] = {"description": _explained(errors.get(status, ())) or HTTPStatus(status).phrase}
        alternatives = []
        if answers.get(status) is not None:
            response["content"] = schemas.content(answers[status])
            alternatives.append(response["content"].get(_JSON, {}).get("schema"))
        if status in errors:
            alternatives.append(_error(errors[status], schemas))
            schema = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
            response["content"] = {_JSON: {"schema": schema}}
        yield str(status), response


def _explained(codes: Iterable[str]) -> str:
    return " ".join(f"`{code}`: {KINDS[code].advice}" for code in codes)


def _error(codes: list[str], schemas: _Schemas) -> dict[str, Any]:
    """Return the schema of an error with one of these codes."""
    narrowed = {"type": "object", "properties": {"code": {"type": "string", "enum": codes}}, "required": ["code"]}
    return {"allOf": [schemas.of(ApiError), narrowed]}


def _security(route: GuardedRoute) -> list[dict[str, list[str]]]:
    if route.rule.role is None:
        return []
    keys = ["bearer", "apiKey", *(["endpointKey"] if route.rule.agents else [])]
    return [{key: []} for key in keys]


def _header(name: str) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": "header", "required": False, "description": _HEADERS[name], "schema": schema}


def _name_any_value(schema: Any, any_value: dict[str, Any]) -> None:
    """Give objects with members of any type the schema of a JSON value, in place."""
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is True:
            schema["additionalProperties"] = any_value
        for each in schema.values():
            _name_any_value(each, any_value)
    elif isinstance(schema, list):
        for each in schema:
            _name_any_value(each, any_value)
