"""Refuses searches over the limit before anything else is done for them: no body, no key look-up, no log line.

A caller has a number of searches in progress per project, tool or endpoint. Calls of an MCP endpoint may also wait,
because an agent can do little with a refusal. Refusals are paced, so that however many there are, they take little of
the processor time that accepted requests need.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable

import msgspec
from cachetools import TTLCache
from starlette.types import ASGIApp, Receive, Scope, Send

from findspot.errors import FindspotError
from findspot.runtime.counts import Counts, LocalCounts
from findspot.runtime.limits import RETRY_AFTER_MS, SEARCHES
from findspot.runtime.peers import Peers
from findspot.runtime.turns import Turns
from findspot.surfaces.http.request_log import Metrics
from findspot.surfaces.http.rules import RULES

WAITING = SEARCHES  # calls of one MCP endpoint that wait behind those in progress

_log = logging.getLogger(__name__)
_LOG_EVERY_S = 10.0
_ID = "[0-9]{1,18}"
_CREDENTIALS = (b"authorization", b"x-api-key", b"cookie")  # a caller without a valid key takes no room from others
_MCP_METHOD, _LISTEN = b"mcp-method", b"subscriptions/listen"  # a stream that stays open and takes no processor time


def _searches() -> re.Pattern[str]:
    """Return the pattern of the addresses that search. Its group is the project, tool or endpoint."""
    paths = [re.escape(route.partition(" ")[2]) for route, rule in RULES.items() if rule.search]
    patterns = [re.sub(r"\\{\w+\\}", _ID, path) for path in paths]
    return re.compile(rf"(?=(?:{'|'.join(patterns)})$)(/(?:api/v1/)?[a-z]+/{_ID})")


class Refusals:
    """Paces refusals, and says when a refused caller should come back: the later, the more of them there are."""

    ANSWERED_PER_S = 200.0  # more are held back
    RETURNING_PER_S = 100.0
    BURST_S = 0.5
    LONGEST_S = 10.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_answer = 0.0
        self._next_return = 0.0
        self._early: TTLCache[object, float] = TTLCache(10_000, self.LONGEST_S, clock)  # client → time to come back

    def next(self, client: object) -> "Refusal":
        """Return the refusal of a client's request. A client that did not wait since the last one is disconnected."""
        now = self._clock()
        self._next_answer = max(self._next_answer, now - self.BURST_S) + 1 / self.ANSWERED_PER_S
        held_s = min(max(0.0, self._next_answer - now), self.LONGEST_S)
        soonest = now + held_s + RETRY_AFTER_MS / 1000
        self._next_return = min(max(self._next_return + 1 / self.RETURNING_PER_S, soonest), soonest + self.LONGEST_S)
        is_early = self._early.pop(client, 0.0) > now
        if not is_early:
            self._early[client] = self._next_return
        return Refusal(held_s, round((self._next_return - now - held_s) * 1000), is_early)


class Refusal(msgspec.Struct, frozen=True):
    """How a request is refused: after how long, when the caller may come back, and whether the connection is closed."""

    held_s: float
    retry_after_ms: int
    closes: bool


class Admission:
    """ASGI middleware around everything else: admits searches up to the limit of their caller."""

    def __init__(self, inner: ASGIApp, metrics: Metrics, peers: Peers | None = None) -> None:
        self._inner = inner
        self._metrics = metrics
        self._searches = _searches()
        self._requests: Counts = peers.callers if peers else LocalCounts()
        self._in_progress = SEARCHES // peers.api_processes if peers else SEARCHES  # of a caller, in this process
        self._callers: dict[tuple[str, bytes], _Caller] = {}
        self._refusals = Refusals()
        self._refused, self._next_log = 0, 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._searches.match(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None or _header(scope, _MCP_METHOD) == _LISTEN:
            await self._inner(scope, receive, send)
            return
        key = found[1], _header(scope, *_CREDENTIALS)
        if not self._requests.take(key, SEARCHES + WAITING if found[1].startswith("/mcp/") else SEARCHES):
            await self._refuse(scope, send)
            return
        caller = self._callers.get(key) or self._callers.setdefault(key, _Caller(self._in_progress))
        caller.requests += 1
        try:
            async with caller.turns.turn(0):
                await self._inner(scope, receive, send)
        finally:
            self._requests.give_back(key)
            caller.requests -= 1
            if not caller.requests:
                del self._callers[key]

    async def _refuse(self, scope: Scope, send: Send) -> None:
        refusal = self._refusals.next(scope.get("client"))
        self._metrics.refused.inc()
        self._log()
        if refusal.held_s:
            await asyncio.sleep(refusal.held_s)
        message = f"{SEARCHES} searches of this key are already in progress here. Try again later."
        body = msgspec.json.encode(
            FindspotError("SEARCH_BACKPRESSURE", message, retryAfterMs=refusal.retry_after_ms).body()
        )
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"retry-after", b"%d" % math.ceil(refusal.retry_after_ms / 1000)),
        ]
        if refusal.closes:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _log(self) -> None:
        """Log how many requests were refused, once per interval."""
        self._refused += 1
        now = time.monotonic()
        if now >= self._next_log:
            _log.warning("%d searches were refused: too many are in progress.", self._refused)
            self._refused, self._next_log = 0, now + _LOG_EVERY_S


class _Caller:
    """The requests of one caller, of which a limited number is in progress and the others wait."""

    def __init__(self, in_progress: int) -> None:
        self.requests = 0
        self.turns = Turns(max(1, in_progress))


def _header(scope: Scope, *names: bytes) -> bytes:
    """Return the last word of the first of these headers, in this order, that the request has: a key without scheme."""
    sent = dict(scope["headers"])
    return next((bytes(sent[name]).rpartition(b" ")[2] for name in names if name in sent), b"")
