"""The access rule of every route: the role it needs, and whose project it is about.

This is the only place that says who may call what. `guard.py` applies it, a route without a rule cannot be made, and
OpenAPI lists the errors that a rule leads to.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from findspot.errors import STORE_FAILURES
from findspot.models import Role


class Scope(Enum):
    """What a route is about, and so which project the caller must belong to."""

    INSTALLATION = auto()  # nothing of one project
    PROJECT = auto()  # the project in the path
    TABLE = auto()  # the project that owns the table in the path
    DOCUMENT = auto()  # the project that owns the document in the path
    TOOL = auto()  # the project that owns the tool in the path
    ENDPOINT = auto()  # the project that owns the endpoint in the path
    BODY = auto()  # the project that the body names as `project_id`


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may call a route.

    `role` is the least role (None: open to everyone), `large` allows a body of up to FINDSPOT_MAX_BODY, `agents`
    admits the key of an MCP endpoint and refuses pages of other sites, `search` limits the requests in progress
    (`admission.py`), and `save` lets fewer searches run meanwhile, because a person waits for it.
    """

    role: Role | None
    scope: Scope = Scope.INSTALLATION
    large: bool = False
    agents: bool = False
    search: bool = False
    save: bool = False

    def errors(self, *, ids: bool, body: bool, query: bool) -> Iterator[str]:
        """Yield the codes that every route with this rule can answer, given what its address and body hold."""
        yield from ("MALFORMED_REQUEST", "HEADERS_TOO_LARGE", "INTERNAL", "SERVER_BUSY")
        if self.role is not None:
            yield from ("UNAUTHORIZED", *STORE_FAILURES)
        if self.agents or (self.role is not None and not Role.READ.covers(self.role)):
            yield "FORBIDDEN"
        if self.agents:
            yield "MISDIRECTED"
        if ids or self.scope is not Scope.INSTALLATION:
            yield "NOT_FOUND"
        if body or query:
            yield "INVALID_ARGUMENT"
        if body:
            yield "CONTENT_TOO_LARGE"
        if self.search:
            yield "SEARCH_BACKPRESSURE"


OPEN = Rule(None)
READ, WRITE, ADMIN, OWNER = Role.READ, Role.WRITE, Role.ADMIN, Role.OWNER

RULES = {
    "GET /": OPEN,
    "GET /projects/{page:path}": OPEN,
    "GET /assets/{name}": OPEN,
    "POST /api/v1/sign-in": OPEN,
    "POST /api/v1/sign-out": Rule(READ),
    "GET /api/v1/caller": Rule(READ),
    "GET /healthz": OPEN,
    "HEAD /healthz": OPEN,
    "GET /readyz": OPEN,
    "HEAD /readyz": OPEN,
    "GET /metrics": Rule(ADMIN),
    "GET /openapi.json": OPEN,
    "GET /internal/backup": Rule(OWNER),
    "GET /internal/processes": Rule(OWNER),
    "GET /api/v1/projects": Rule(READ),
    "POST /api/v1/projects": Rule(OWNER),
    "GET /api/v1/projects/{project_id}": Rule(READ, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/dependents": Rule(READ, Scope.PROJECT),
    "DELETE /api/v1/projects/{project_id}": Rule(ADMIN, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/status": Rule(READ, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/status/events": Rule(READ, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/keys": Rule(ADMIN, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/keys": Rule(ADMIN, Scope.PROJECT),
    "DELETE /api/v1/projects/{project_id}/keys/{key_id}": Rule(ADMIN, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/tables": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/tables": Rule(WRITE, Scope.PROJECT, large=True, save=True),
    "GET /api/v1/tables/{table_id}": Rule(READ, Scope.TABLE),
    "GET /api/v1/tables/{table_id}/children": Rule(READ, Scope.TABLE),
    "GET /api/v1/tables/{table_id}/dependents": Rule(READ, Scope.TABLE),
    "DELETE /api/v1/tables/{table_id}": Rule(WRITE, Scope.TABLE, save=True),
    "PUT /api/v1/tables/{table_id}/data": Rule(WRITE, Scope.TABLE, large=True, save=True),
    "PATCH /api/v1/tables/{table_id}/data": Rule(WRITE, Scope.TABLE, large=True, save=True),
    "GET /api/v1/projects/{project_id}/documents": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/documents": Rule(WRITE, Scope.PROJECT, large=True, save=True),
    "POST /api/v1/projects/{project_id}/import": Rule(WRITE, Scope.PROJECT, large=True),
    "POST /api/v1/projects/{project_id}/import/compare": Rule(WRITE, Scope.PROJECT, large=True),
    "POST /api/v1/projects/{project_id}/import/prune": Rule(WRITE, Scope.PROJECT, large=True),
    "GET /api/v1/projects/{project_id}/export": Rule(READ, Scope.PROJECT),
    "GET /api/v1/documents/{document_id}": Rule(READ, Scope.DOCUMENT),
    "PUT /api/v1/documents/{document_id}": Rule(WRITE, Scope.DOCUMENT, large=True, save=True),
    "DELETE /api/v1/documents/{document_id}": Rule(WRITE, Scope.DOCUMENT, save=True),
    "GET /api/v1/documents/{document_id}/versions": Rule(READ, Scope.DOCUMENT),
    "GET /api/v1/documents/{document_id}/versions/{version_id}": Rule(READ, Scope.DOCUMENT),
    "GET /api/v1/documents/{document_id}/versions/{version_id}/diff": Rule(READ, Scope.DOCUMENT),
    "POST /api/v1/documents/{document_id}/versions/{version_id}/restore": Rule(WRITE, Scope.DOCUMENT, save=True),
    "POST /api/v1/tools/search": Rule(WRITE, Scope.BODY),
    "POST /api/v1/tools": Rule(WRITE, Scope.BODY),
    "GET /api/v1/projects/{project_id}/tools": Rule(READ, Scope.PROJECT),
    "GET /api/v1/tools/{tool_id}": Rule(READ, Scope.TOOL),
    "PATCH /api/v1/tools/{tool_id}": Rule(WRITE, Scope.TOOL),
    "GET /api/v1/tools/{tool_id}/dependents": Rule(READ, Scope.TOOL),
    "DELETE /api/v1/tools/{tool_id}": Rule(WRITE, Scope.TOOL),
    "GET /api/v1/tools/{tool_id}/search-index": Rule(READ, Scope.TOOL),
    # An editing tool itself asks for the role that it needs.
    "POST /api/v1/tools/{tool_id}/call": Rule(READ, Scope.TOOL, large=True, search=True),
    "GET /internal/tools/{tool_id}/chunks/stats": Rule(ADMIN, Scope.TOOL),
    "POST /internal/tools/{tool_id}/chunks/rebuild": Rule(ADMIN, Scope.TOOL),
    "DELETE /internal/tools/{tool_id}/chunks": Rule(ADMIN, Scope.TOOL),
    "POST /api/v1/mcp": Rule(WRITE, Scope.BODY),
    "GET /api/v1/projects/{project_id}/mcp": Rule(READ, Scope.PROJECT),
    "GET /api/v1/mcp/{endpoint_id}": Rule(READ, Scope.ENDPOINT),
    "PATCH /api/v1/mcp/{endpoint_id}": Rule(WRITE, Scope.ENDPOINT),
    "DELETE /api/v1/mcp/{endpoint_id}": Rule(WRITE, Scope.ENDPOINT),
    "POST /api/v1/mcp/{endpoint_id}/rotate-key": Rule(WRITE, Scope.ENDPOINT),
    "PUT /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "PATCH /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "DELETE /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "POST /api/v1/projects/{project_id}/search/fts/query": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/query/strategy": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/rank/explain": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/fts/reindex": Rule(WRITE, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/embedding/search": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/embedding/generate": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/embedding/reindex": Rule(WRITE, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/rag/retrieve": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/rag/config/get": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/rag/config/update": Rule(ADMIN, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/context/assemble": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/match": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/replace/preview": Rule(READ, Scope.PROJECT, search=True),
    "POST /api/v1/projects/{project_id}/search/replace/execute": Rule(WRITE, Scope.PROJECT, save=True),
    "POST /api/v1/projects/{project_id}/search/replace/undo": Rule(WRITE, Scope.PROJECT, save=True),
    "POST /api/v1/projects/{project_id}/search/replace/list": Rule(READ, Scope.PROJECT),
    "POST /mcp/{endpoint_id}": Rule(READ, Scope.ENDPOINT, large=True, agents=True, search=True),
}
