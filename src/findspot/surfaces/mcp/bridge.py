"""The bridge for desktop clients: passes MCP messages between standard input and output and an endpoint over HTTP.

It passes messages on as they are, and reads only what the HTTP headers need. Importing the SDK takes longer than a
client should wait for its first answer, so this module does not.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2

from findspot import __version__
from findspot.surfaces.mcp.instructions import INSTRUCTIONS
from findspot.surfaces.mcp.stdio import Message, messages_of_stdin, write_to_stdout

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_VERSION = "2026-07-28"
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
_META = "io.modelcontextprotocol/"
_NAME_FIELDS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # sent in a header too
_PLAIN_HEADER = re.compile(r"[!-~]([ -~]*[!-~])?")
_LIST_CHANGES = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
_FOLLOWED = ("subscriptions/listen", "tools/list", "resources/list")
_LAST_ANSWERS_S = 1.0

Write = Callable[[bytes], Awaitable[None]]


async def run(url: str, http: httpx2.AsyncClient) -> None:
    """Serve the client on standard input until it closes the stream."""
    await Bridge(url, http, write_to_stdout).serve(messages_of_stdin())


class Bridge:
    """Answers what can be answered here, and passes every other request on to the endpoint."""

    def __init__(self, url: str, http: httpx2.AsyncClient, write: Write, reconnect_s: float = 5.0) -> None:
        self._url = url
        self._reconnect_s = reconnect_s
        self._http = http
        self._write = write
        self._version: str | None = None  # that an older client has agreed on in its handshake
        self._listeners: dict[Any, dict[str, bool]] = {}  # what each open `subscriptions/listen` asked for, by id
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._following = asyncio.Event()  # changes are followed, or the server is down

    async def serve(self, messages: AsyncIterator[Message | None]) -> None:
        """Answer messages until they end, then wait a moment for the last answers."""
        following = asyncio.create_task(self._follow_changes())
        try:
            async for message in messages:
                if message is None:
                    await self._send_error(None, PARSE_ERROR, "This line is not a JSON-RPC message.")
                elif message.id is None:
                    self._notified(message)
                else:
                    self._start(message)
            if self._running:
                await asyncio.wait(self._running.values(), timeout=_LAST_ANSWERS_S)
        finally:
            tasks = [following, *self._running.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, message: Message) -> None:
        task = asyncio.create_task(self._answer(message))
        self._running[message.id] = task
        task.add_done_callback(lambda _: self._running.pop(message.id, None))

    def _notified(self, message: Message) -> None:
        if message.method == "notifications/cancelled":
            request = message.params.get("requestId")
            self._listeners.pop(request, None)
            if request in self._running:
                self._running[request].cancel()  # closes the request to the server

    # ── requests ──

    async def _answer(self, message: Message) -> None:
        if message.method in _FOLLOWED:  # a change after this answer must not be missed
            await self._following.wait()
        match message.method:
            case "initialize":
                await self._send_result(message, self._agreed(message.params))
            case "server/discover":
                await self._send_result(message, _DISCOVERED)
            case "ping" if self._version is not None:
                await self._send_result(message, {})
            case "subscriptions/listen":
                await self._listen(message)
            case _:
                await self._pass_on(message)

    def _agreed(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to the handshake of an older client: its revision, or the newest that has a handshake."""
        wanted = params.get("protocolVersion")
        self._version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {
            "protocolVersion": self._version,
            "capabilities": _CAPABILITIES,
            "serverInfo": _SERVER,
            "instructions": INSTRUCTIONS,
        }

    async def _listen(self, message: Message) -> None:
        """Acknowledge a subscription. It gets the changes that the bridge follows, until it is cancelled."""
        asked = message.params.get("notifications")
        wanted = {each: True for each in _LIST_CHANGES.values() if isinstance(asked, dict) and asked.get(each)}
        self._listeners[message.id] = wanted
        await self._notify("notifications/subscriptions/acknowledged", message.id, notifications=wanted)

    async def _pass_on(self, message: Message) -> None:
        """Send a request to the endpoint and write everything that it answers."""
        try:
            async with self._http.stream(
                "POST", self._url, content=message.line, headers=self._headers(message)
            ) as response:
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    async for event in httpx2.EventSource(response, max_event_size=None):
                        if event.data:
                            await self._write(event.data.encode())
                    return
                body = await response.aread()
        except (httpx2.HTTPError, httpx2.SSEError) as error:
            reason = str(error) or type(error).__name__
            sentence = f"The Findspot server does not answer: {reason}. Is it running?"
            await self._send_error(message.id, INTERNAL_ERROR, sentence)
            return
        await self._write(body) if response.is_success else await self._send_refusal(
            message, response.status_code, body
        )

    def _headers(self, message: Message) -> dict[str, str]:
        """Return the headers of a request: an older client's revision, or the newest one's copies from the body."""
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        meta = message.params.get("_meta")
        version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
        if self._version is not None or not isinstance(version, str):
            return headers | {"Mcp-Protocol-Version": self._version or HANDSHAKE_VERSIONS[-1]}
        headers |= {"Mcp-Protocol-Version": _header_value(version), "Mcp-Method": _header_value(message.method)}
        name = message.params.get(_NAME_FIELDS.get(message.method, ""))
        return headers | ({"Mcp-Name": _header_value(name)} if isinstance(name, str) else {})

    async def _send_refusal(self, message: Message, status: int, body: bytes) -> None:
        """Write the error of a refused request: a JSON-RPC error as it is, any other with its message."""
        try:
            refusal = json.loads(body)
        except ValueError:
            refusal = None
        error = refusal.get("error") if isinstance(refusal, dict) else None
        if isinstance(error, dict) and "code" in error:
            await self._send(id=message.id, error=error)
            return
        fields = refusal if isinstance(refusal, dict) else {}
        sentence = fields.pop("message", f"The server answered with the HTTP status {status}.")
        await self._send_error(message.id, INTERNAL_ERROR, sentence, fields)

    # ── changes ──

    async def _follow_changes(self) -> None:
        """Pass on every change of the lists. When a broken stream is open again, assume that a change was missed."""
        missed = False
        while True:
            try:
                async for method in self._changes():
                    changes = [method] if method in _LIST_CHANGES else [*_LIST_CHANGES] if missed else []
                    for each in changes:
                        await self._publish(each)
                    missed = False
            except (httpx2.HTTPError, httpx2.SSEError):
                pass  # the server is unavailable; calls in the meantime get an error that says so
            self._following.set()
            missed = True
            await asyncio.sleep(self._reconnect_s)

    async def _changes(self) -> AsyncIterator[str]:
        """Yield the methods of the notifications of one stream until it ends. The first one acknowledges it."""
        meta = {f"{_META}protocolVersion": NEWEST_VERSION, f"{_META}clientCapabilities": {}}
        wanted = dict.fromkeys(_LIST_CHANGES.values(), True)
        params = {"notifications": wanted, "_meta": meta}
        request = Message("changes", "subscriptions/listen", params, b"")
        body = {"jsonrpc": "2.0", "id": request.id, "method": request.method, "params": params}
        headers = {**self._headers(request), "Mcp-Protocol-Version": NEWEST_VERSION, "Mcp-Method": request.method}
        async with self._http.stream("POST", self._url, json=body, headers=headers) as response:
            response.raise_for_status()
            async for event in httpx2.EventSource(response):
                if event.data:
                    self._following.set()
                    yield str(json.loads(event.data).get("method"))

    async def _publish(self, method: str) -> None:
        """Notify an older client, which gets every notification, or the subscriptions that asked for this one."""
        if self._version is not None:
            await self._send(method=method)
        for listener, wanted in list(self._listeners.items()):
            if wanted.get(_LIST_CHANGES[method]):
                await self._notify(method, listener)

    async def _notify(self, method: str, listener: Any, **params: Any) -> None:
        await self._send(method=method, params={**params, "_meta": {f"{_META}subscriptionId": listener}})

    # ── messages to the client ──

    async def _send_result(self, message: Message, result: dict[str, Any]) -> None:
        await self._send(id=message.id, result=result)

    async def _send_error(self, id: Any, code: int, sentence: str, data: dict[str, Any] | None = None) -> None:
        await self._send(id=id, error={"code": code, "message": sentence} | ({"data": data} if data else {}))

    async def _send(self, **members: Any) -> None:
        await self._write(json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False).encode())


def _header_value(text: str) -> str:
    """Return a text as a header value. The protocol sends as base64 what a header cannot carry."""
    if _PLAIN_HEADER.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


_SERVER = {"name": "findspot", "title": "Findspot", "version": __version__}
_CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"listChanged": True, "subscribe": False}}
_DISCOVERED = {
    "supportedVersions": [NEWEST_VERSION],
    "capabilities": _CAPABILITIES,
    "instructions": INSTRUCTIONS,
    "resultType": "complete",
    "cacheScope": "private",
    "ttlMs": 0,
    "_meta": {f"{_META}serverInfo": _SERVER},
}
