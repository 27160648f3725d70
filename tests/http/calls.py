"""One working call of every route: what the walk over all routes tries with the wrong callers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from findspot.models import Role

READ, WRITE, ADMIN, OWNER = Role.READ, Role.WRITE, Role.ADMIN, Role.OWNER


@dataclass(frozen=True, slots=True)
class Call:
    """How a route is called: the least role that may, what it is about, and a body that is accepted."""

    role: Role | None
    json: Any = None
    of_a_project: bool = True
    file: bytes | None = None
    query: str = ""

    def body(self, ids: Mapping[str, Any]) -> dict[str, Any]:
        """What is sent, as an HTTP client takes it; `"{table_id}"` in it stands for an id."""
        return {"json": _filled(self.json, ids)} if self.file is None else {"content": self.file}


def _filled(json: Any, ids: Mapping[str, Any]) -> Any:
    if not isinstance(json, dict):
        return json
    named = {f"{{{name}}}": id for name, id in ids.items()}
    return {key: named.get(value, value) if isinstance(value, str) else value for key, value in json.items()}


OURS = {"project_id": "{project_id}", "table_id": "{table_id}"}

# Written by hand from the contract's role table, not from the rules in the code: each is the other's check.
CALLS = {
    "GET /": Call(None, of_a_project=False),
    "GET /projects/{page:path}": Call(None, of_a_project=False),
    "GET /assets/{name}": Call(None, of_a_project=False),
    "POST /api/v1/sign-in": Call(None, {"key": "{token}"}, of_a_project=False),
    "POST /api/v1/sign-out": Call(READ, of_a_project=False),
    "GET /api/v1/caller": Call(READ, of_a_project=False),
    "GET /healthz": Call(None, of_a_project=False),
    "HEAD /healthz": Call(None, of_a_project=False),
    "GET /readyz": Call(None, of_a_project=False),
    "HEAD /readyz": Call(None, of_a_project=False),
    "GET /metrics": Call(ADMIN, of_a_project=False),
    "GET /openapi.json": Call(None, of_a_project=False),
    "GET /internal/backup": Call(OWNER, of_a_project=False),
    "GET /internal/processes": Call(OWNER, of_a_project=False),
    "GET /api/v1/projects": Call(READ, of_a_project=False),
    "POST /api/v1/projects": Call(OWNER, {"name": "another"}, of_a_project=False),
    "GET /api/v1/projects/{project_id}": Call(READ),
    "GET /api/v1/projects/{project_id}/dependents": Call(READ),
    "DELETE /api/v1/projects/{project_id}": Call(ADMIN),
    "GET /api/v1/projects/{project_id}/status": Call(READ),
    "GET /api/v1/projects/{project_id}/status/events": Call(READ),
    "GET /api/v1/projects/{project_id}/keys": Call(ADMIN),
    "POST /api/v1/projects/{project_id}/keys": Call(ADMIN, {"name": "k", "role": "read"}),
    "DELETE /api/v1/projects/{project_id}/keys/{key_id}": Call(ADMIN),
    "GET /api/v1/projects/{project_id}/tables": Call(READ),
    "POST /api/v1/projects/{project_id}/tables": Call(WRITE, {"name": "t", "data": [1]}),
    "GET /api/v1/tables/{table_id}": Call(READ),
    "GET /api/v1/tables/{table_id}/children": Call(READ),
    "GET /api/v1/tables/{table_id}/dependents": Call(READ),
    "DELETE /api/v1/tables/{table_id}": Call(WRITE),
    "PUT /api/v1/tables/{table_id}/data": Call(WRITE, [2]),
    "PATCH /api/v1/tables/{table_id}/data": Call(WRITE, [{"op": "add", "path": "/-", "value": 3}]),
    "GET /api/v1/projects/{project_id}/documents": Call(READ),
    "POST /api/v1/projects/{project_id}/documents": Call(WRITE, {"title": "d", "format": "text", "content": "x"}),
    "POST /api/v1/projects/{project_id}/import": Call(WRITE, file=b"# A note\n", query="?path=note.md"),
    "POST /api/v1/projects/{project_id}/import/compare": Call(WRITE, {"root": "notes", "paths": ["a.md"]}),
    "POST /api/v1/projects/{project_id}/import/prune": Call(WRITE, {"root": "notes", "paths": ["a.md"]}),
    "GET /api/v1/projects/{project_id}/export": Call(READ),
    "GET /api/v1/documents/{document_id}": Call(READ),
    "POST /api/v1/projects/{project_id}/search/fts/query": Call(READ, {"query": "now"}),
    "POST /api/v1/projects/{project_id}/search/query/strategy": Call(READ, {"query": "now", "strategy": "hybrid"}),
    "POST /api/v1/projects/{project_id}/search/rank/explain": Call(
        READ, {"query": "now", "documentId": "{document_id}", "chunkId": "{chunk_id}"}
    ),
    "POST /api/v1/projects/{project_id}/search/fts/reindex": Call(WRITE, {}),
    "POST /api/v1/projects/{project_id}/embedding/search": Call(READ, {"query": "now"}),
    "POST /api/v1/projects/{project_id}/embedding/generate": Call(READ, {"texts": ["now"]}),
    "POST /api/v1/projects/{project_id}/embedding/reindex": Call(WRITE, {}),
    "POST /api/v1/projects/{project_id}/rag/retrieve": Call(READ, {"query": "now"}),
    "POST /api/v1/projects/{project_id}/rag/config/get": Call(READ, {}),
    "POST /api/v1/projects/{project_id}/rag/config/update": Call(ADMIN, {"topK": 7}),
    "POST /api/v1/projects/{project_id}/context/assemble": Call(
        READ, {"layers": {"rules": "Be brief."}, "query": "now", "maxTokens": 4000}
    ),
    "POST /api/v1/projects/{project_id}/search/match": Call(READ, {"documentId": "{document_id}", "search": "now"}),
    "POST /api/v1/projects/{project_id}/search/replace/preview": Call(
        READ, {"search": "now", "replace": "then", "scope": "project"}
    ),
    "POST /api/v1/projects/{project_id}/search/replace/execute": Call(
        WRITE, {"previewId": "{preview_id}", "confirmed": True}
    ),
    "POST /api/v1/projects/{project_id}/search/replace/undo": Call(WRITE, {"previewId": "{replace_id}"}),
    "POST /api/v1/projects/{project_id}/search/replace/list": Call(READ, {}),
    "PUT /api/v1/documents/{document_id}": Call(WRITE, {"content": "y"}),
    "DELETE /api/v1/documents/{document_id}": Call(WRITE),
    "GET /api/v1/documents/{document_id}/versions": Call(READ),
    "GET /api/v1/documents/{document_id}/versions/{version_id}": Call(READ),
    "GET /api/v1/documents/{document_id}/versions/{version_id}/diff": Call(READ),
    "POST /api/v1/documents/{document_id}/versions/{version_id}/restore": Call(WRITE),
    "POST /api/v1/tools/search": Call(WRITE, {**OURS, "name": "found", "json_pointer": "/0"}),
    "POST /api/v1/tools": Call(WRITE, {**OURS, "name": "all", "type": "get_all_data"}),
    "GET /api/v1/projects/{project_id}/tools": Call(READ),
    "GET /api/v1/tools/{tool_id}": Call(READ),
    "PATCH /api/v1/tools/{tool_id}": Call(WRITE, {"description": "other words"}),
    "GET /api/v1/tools/{tool_id}/dependents": Call(READ),
    "DELETE /api/v1/tools/{tool_id}": Call(WRITE),
    "GET /api/v1/tools/{tool_id}/search-index": Call(READ),
    "POST /api/v1/tools/{tool_id}/call": Call(READ, {"arguments": {"query": "anything"}}),
    "GET /internal/tools/{tool_id}/chunks/stats": Call(ADMIN),
    "POST /internal/tools/{tool_id}/chunks/rebuild": Call(ADMIN),
    "DELETE /internal/tools/{tool_id}/chunks": Call(ADMIN),
    "POST /api/v1/mcp": Call(WRITE, {"project_id": "{project_id}", "name": "for agents"}),
    "GET /api/v1/projects/{project_id}/mcp": Call(READ),
    "GET /api/v1/mcp/{endpoint_id}": Call(READ),
    "PATCH /api/v1/mcp/{endpoint_id}": Call(WRITE, {"lean": True}),
    "DELETE /api/v1/mcp/{endpoint_id}": Call(WRITE),
    "POST /api/v1/mcp/{endpoint_id}/rotate-key": Call(WRITE),
    "PUT /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Call(WRITE),
    "PATCH /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Call(WRITE, {"enabled": False}),
    "DELETE /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Call(WRITE),
    "POST /mcp/{endpoint_id}": Call(READ, {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
}
