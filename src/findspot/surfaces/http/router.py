"""Routers whose every route is guarded by its access rule and described completely in OpenAPI.

    @api.put("/api/v1/tables/{table_id}/data", takes=JsonValue, errors=("PRECONDITION_FAILED",))
    async def put_data(request: Request, table_id: int) -> Revision: ...

A route that returns a typed dictionary is encoded by msgspec in one native step. A route that encodes its answer
itself returns a `Response` and declares what is in it with `answer`.
"""

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from findspot.app import App
from findspot.errors import KINDS
from findspot.models import Role
from findspot.runtime.memory import Memory
from findspot.surfaces.access import access_of, grant
from findspot.surfaces.http.body import limited
from findspot.surfaces.http.disconnects import until_disconnect
from findspot.surfaces.http.encoding import encoded
from findspot.surfaces.http.guard import authorise, require_caller
from findspot.surfaces.http.plain_arguments import plainly
from findspot.surfaces.http.rules import RULES, Scope

_SMALL_BODY = 1024 * 1024
_CALLS = (Scope.TOOL, Scope.ENDPOINT)
_RESERVATION = "findspot.body_memory"
_UNTIL_SENT = "findspot.until_sent"

T = TypeVar("T")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Any]])

__all__ = ["GuardedRoute", "Media", "Router", "access_of", "app_of", "until_sent"]


@dataclass(frozen=True, slots=True)
class Media:
    """A body by media type: the type of its content, or None for bytes."""

    contents: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Described:
    """What OpenAPI says about a route besides its parameters."""

    answers: Mapping[int, Any]  # by status: a type, a Media, or None for no body
    takes: Any = None  # the type or Media of a body that the route parses itself
    errors: tuple[str, ...] = ()  # codes beyond those of the access rule
    headers: tuple[str, ...] = ()  # request headers that matter
    hidden: bool = False


def app_of(request: Request) -> App:
    """Return the open application behind a request."""
    app: App = request.app.state.app
    return app


async def until_sent(request: Request, resource: contextlib.AbstractAsyncContextManager[T]) -> T:
    """Enter a context that is left when the answer to this request has been sent, or cannot be sent."""
    stack: contextlib.AsyncExitStack = request.scope[_UNTIL_SENT]
    return await stack.enter_async_context(resource)


class GuardedRoute(APIRoute):
    """A route that applies its access rule before it reads a byte of the body. Without a rule it cannot be made."""

    def __init__(self, method: str, path: str, endpoint: Callable[..., Any], tag: str, described: Described) -> None:
        self.rule = RULES[f"{method} {path}"]
        self.method = method
        self.described = described
        (status, *_) = described.answers
        super().__init__(
            path,
            _encoding(endpoint, status),
            methods=[method],
            status_code=status,
            tags=[tag],
            response_model=None,
            response_class=Response,
            operation_id=_camel_case(endpoint.__name__),
            include_in_schema=not described.hidden,
        )

    @property
    def reads_body(self) -> bool:
        return self.described.takes is not None or self.body_field is not None

    @property
    def codes(self) -> list[str]:
        """Every error code that the route can answer, in the order of the table of errors."""
        common = self.rule.errors(
            ids=bool(self.param_convertors), body=self.reads_body, query=bool(self.dependant.query_params)
        )
        found = {*common, *self.described.errors}
        return [code for code in KINDS if code in found]

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.rule.role is not None:  # `authorise` checks the ids in the path
            handle = plainly(self, handle)
        rule, reads_body = self.rule, self.reads_body

        async def guarded(request: Request) -> Response:
            app = app_of(request)
            if rule.role is not None:
                if rule.scope is Scope.BODY:
                    await require_caller(app, request)  # before a byte is read
                else:
                    grant(request.scope, await authorise(app, request, rule))
            if reads_body:
                limit = app.settings.max_body if rule.large else min(_SMALL_BODY, app.settings.max_body)
                request = await limited(request, limit, request.scope[_RESERVATION])
            if rule.scope is Scope.BODY:
                grant(request.scope, await authorise(app, request, rule))
            with app.gate.saving() if rule.save else contextlib.nullcontext():
                return await handle(request)

        return guarded

    async def handle(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request. Its share of the memory is given back when the answer has been sent."""
        memory: Memory = scope["app"].state.app.memory
        async with contextlib.AsyncExitStack() as stack:
            scope[_UNTIL_SENT] = stack
            scope[_RESERVATION] = stack.enter_context(memory.bodies.reservation())
            serve = functools.partial(super().handle, scope)
            if self._ends_with_client:
                await until_disconnect(receive, send, serve, has_body=self.reads_body)
            else:
                await serve(receive, send)

    @property
    def _ends_with_client(self) -> bool:
        """Whether the work ends when the client hangs up. Changes are finished; an editing tool sees to that itself."""
        return self.rule.role is Role.READ and (self.method == "GET" or self.rule.scope in _CALLS)


class Router:
    """The routes of one part of the API."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.routes: list[GuardedRoute] = []

    def get(self, path: str, **declared: Any) -> Callable[[Endpoint], Endpoint]:
        return self._route("GET", path, **declared)

    def head(self, path: str) -> Callable[[Endpoint], Endpoint]:
        """Declare that a GET route answers HEAD too. The server leaves out the body."""
        return self._route("HEAD", path, hidden=True)

    def post(self, path: str, **declared: Any) -> Callable[[Endpoint], Endpoint]:
        return self._route("POST", path, **declared)

    def put(self, path: str, **declared: Any) -> Callable[[Endpoint], Endpoint]:
        return self._route("PUT", path, **declared)

    def patch(self, path: str, **declared: Any) -> Callable[[Endpoint], Endpoint]:
        return self._route("PATCH", path, **declared)

    def delete(self, path: str, **declared: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare a route that deletes something: 204 and no body."""
        return self._route("DELETE", path, status=204, **declared)

    def _route(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        answer: Any = None,
        also: Mapping[int, Any] | None = None,
        takes: Any = None,
        errors: tuple[str, ...] = (),
        headers: tuple[str, ...] = (),
        hidden: bool = False,
    ) -> Callable[[Endpoint], Endpoint]:
        def add(endpoint: Endpoint) -> Endpoint:
            returned = inspect.signature(endpoint).return_annotation
            shown = answer if returned is Response else returned
            described = Described({status: shown, **(also or {})}, takes, errors, headers, hidden)
            self.routes.append(GuardedRoute(method, path, endpoint, self._tag, described))
            return endpoint

        return add


def _encoding(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Return an endpoint whose typed answer is encoded; one that returns a Response stays as it is."""
    if inspect.signature(endpoint).return_annotation is Response:
        return endpoint

    @functools.wraps(endpoint)
    async def answer(*args: Any, **kwargs: Any) -> Response:
        return encoded(await endpoint(*args, **kwargs), status)

    return answer


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
