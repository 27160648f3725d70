"""A stand-in for an embedding service: HTTP on loopback, in the format of OpenAI, with answers that a test chooses."""

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], Any]
Behaviour = Callable[[dict[str, Any]], Reply | None]

DIMENSION = 16


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    """Return a vector that depends on the text alone."""
    digest = sha256(text.encode()).digest()
    return [math.sin(digest[number % 32] + number) for number in range(dimension)]


def rows(body: dict[str, Any], dimension: int = DIMENSION) -> list[dict[str, Any]]:
    return [
        {"object": "embedding", "index": index, "embedding": vector(text, dimension)}
        for index, text in enumerate(body["input"])
    ]


def answer(data: list[dict[str, Any]]) -> Reply:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {}, {"object": "list", "model": "m", "data": data, "usage": usage}


def correct(body: dict[str, Any]) -> Reply:
    return answer(rows(body))


def status_error(status: int, message: str = "no", **headers: str) -> Behaviour:
    return lambda body: (status, headers, {"error": {"message": message, "type": "error"}})


def hangs_up(body: dict[str, Any]) -> None:
    return None


class StandIn:
    """The running service. `first` answers the first requests, one each; `behave` answers all others."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.first: list[Behaviour] = []
        self.behave: Behaviour = correct

    def reply(self, body: dict[str, Any], key: str | None) -> Reply | None:
        self.asked.append(body)
        self.keys.append(key)
        return (self.first.pop(0) if self.first else self.behave)(body)


@contextmanager
def running() -> Iterator[StandIn]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            service.paths.append(self.path)
            reply = service.reply(body, self.headers["authorization"])
            if reply is None:
                self.close_connection = True
                return
            status, headers, content = reply
            pieces = content if isinstance(content, Iterator) else None
            data = content if isinstance(content, bytes) else b"" if pieces else json.dumps(content).encode()
            length = {} if pieces else {"content-length": str(len(data))}
            self.send_response(status)
            for name, value in {"content-type": "application/json", **length, **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            for piece in pieces or (data,):
                self.wfile.write(piece)
            self.close_connection = pieces is not None

        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore clients that hang up: tests give up on slow answers."""

    server = Server(("127.0.0.1", 0), Handler)
    service = StandIn(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield service
    server.shutdown()
    server.server_close()
    thread.join()
