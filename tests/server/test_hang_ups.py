"""Clients that hang up: in the middle of a body, of an answer and of a stream. None of it is a fault of the server."""

import json
import socket
from collections.abc import Callable

from mcp_types.version import LATEST_MODERN_VERSION

from tests.servers import Server

_WAIT_S = 120
_RESET = b"\1\0\0\0\0\0\0\0"  # l_onoff, l_linger: close with a reset
_LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"toolsListChanged": True},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


def _hang_up(server: Server, request: str, headers: dict[str, str], body: bytes = b"", *, reset: bool) -> None:
    """Send a request, read the first bytes of what comes back, and close the connection."""
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    lines = [f"{request} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection((host, int(port)), timeout=_WAIT_S) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        assert connection.recv(100)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def test_a_client_that_hangs_up_leaves_no_error_in_the_log(start_server: Callable[..., Server]) -> None:
    server = start_server()
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        data = {"name": "t", "data": {"text": "灯塔 keeper " * 500_000}}
        table = owner.post(f"/api/v1/projects/{project}/tables", json=data).json()["id"]
        endpoint = owner.post("/api/v1/mcp", json={"project_id": project, "name": "e"}).json()
    mine, listen = {"Authorization": f"Bearer {server.token}"}, json.dumps(_LISTEN).encode()
    agents = {
        "Authorization": f"Bearer {endpoint['api_key']}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
        "Mcp-Method": "subscriptions/listen",
    }
    half = {"Content-Length": "1000", "Expect": "100-continue"}  # answered when the server begins to read the body
    for reset in (False, True):
        for request in (
            "POST /api/v1/projects",
            f"PUT /api/v1/tables/{table}/data",
            f"POST /api/v1/projects/{project}/import?path=a.md",
        ):
            _hang_up(server, request, {**mine, **half}, b"{", reset=reset)
        _hang_up(server, f"POST /mcp/{endpoint['id']}", {**agents, **half}, b"{", reset=reset)
        for request in (
            f"GET /api/v1/tables/{table}",
            "GET /internal/backup",
            f"GET /api/v1/projects/{project}/export",
        ):
            _hang_up(server, request, mine, reset=reset)
        length = {"Content-Length": str(len(listen))}
        _hang_up(server, f"POST /mcp/{endpoint['id']}", {**agents, **length}, listen, reset=reset)
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.output if line.startswith("{")]
    assert [line for line in lines if line["level"] not in ("info", "debug")] == []
    gone = [line["route"] for line in lines if line["event"] == "request" and line["status"] == 499]
    assert gone.count("/api/v1/projects") == gone.count("/api/v1/tables/{table_id}/data") == 2
    assert "Traceback" not in "".join(server.output)
