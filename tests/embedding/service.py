"""An embedding service on loopback that speaks like OpenAI's and does as the test tells it: slow, wrong or rude."""

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
    """Some vector that is the text's own."""
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


def well(body: dict[str, Any]) -> Reply:
    return answer(rows(body))


def says(status: int, message: str = "no", **headers: str) -> Behaviour:
    return lambda body: (status, headers, {"error": {"message": message, "type": "error"}})


def hangs_up(body: dict[str, Any]) -> None:
    return None


class Service:
    """The running service. `behave` answers every request for which `first` has nothing left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.first: list[Behaviour] = []
        self.behave: Behaviour = well

    def reply(self, body: dict[str, Any], key: str | None) -> Reply | None:
        self.asked.append(body)
        self.keys.append(key)
        return (self.first.pop(0) if self.first else self.behave)(body)


@contextmanager
def running() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = service.reply(body, self.headers["authorization"])
            if reply is None:
                self.close_connection = True
                return
            status, headers, content = reply
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quietly."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Quietly: a client that did not wait for a slow answer is what the test is about."""

    server = Server(("127.0.0.1", 0), Handler)
    service = Service(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield service
    server.shutdown()
    server.server_close()
    thread.join()
