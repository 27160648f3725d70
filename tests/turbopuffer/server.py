"""The stand-in over HTTP: in a thread of a test, or as a process: `python -m tests.turbopuffer.server --port 0`.

`/_control` is not part of the API: tests read counts and set faults there, if the stand-in is another process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.turbopuffer.errors import ApiError
from tests.turbopuffer.faults import Faults
from tests.turbopuffer.service import MAX_BODY, Service

API_KEY = "tpuf_stand_in_key"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        if url.path == "/_control":
            self._send(200, self._control(body))
            return
        service = self.server.service
        fault = service.faults.choose(f"{self.command} {url.path}")
        if fault == "dropped":
            self._hang_up()
            return
        if fault == "status":
            status, retry_after_s = service.faults.next_status(), service.faults.faults.retry_after_s
            self._send(status, {"status": "error", "error": "injected"}, retry_after_s)
            return
        if fault == "delayed":
            self.server.sleep(service.faults.faults.late_s)
        answer = self._answer(url.path, dict(parse_qsl(url.query)), body)
        if fault == "lost":
            self._hang_up()
            return
        if fault == "late":
            self.server.sleep(service.faults.faults.late_s)
        self._send(*answer)

    do_GET = do_POST = do_DELETE = do_PATCH = _handle

    def _answer(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any], float | None]:
        try:
            if self.headers.get("Authorization") != f"Bearer {self.server.api_key}":
                raise ApiError(401, "invalid API key")
            if len(body) > MAX_BODY:
                raise ApiError(413, "the request is too large")
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            query.pop("stainless_overload", None)  # the SDK marks which of its methods was called
            answer = self.server.service.answer(self.command, unquote(path), query, json.loads(body) if body else {})
        except ApiError as error:
            return error.status, {"status": "error", "error": error.message}, error.retry_after_s
        except ValueError as error:
            return 400, {"status": "error", "error": f"invalid request: {error}"}, None
        return 200, answer, None

    def _control(self, body: bytes) -> dict[str, Any]:
        service = self.server.service
        if body:
            service.faults.set(Faults.of(json.loads(body)))
        rows = {name: len(each.rows) for name, each in service.namespaces.items()}
        return {"faults": service.faults.faults.as_json(), "requests": dict(service.requests), "rows": rows}

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _send(self, status: int, answer: dict[str, Any], retry_after_s: float | None = None) -> None:
        content = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if retry_after_s is not None:
                self.send_header("Retry-After", str(retry_after_s))
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # the client has given up
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, api_key: str) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.service, self.api_key = Service(), api_key
        self._closing = threading.Event()

    def sleep(self, seconds: float) -> None:
        """Wait, unless the server is closed."""
        self._closing.wait(seconds)

    def server_close(self) -> None:
        self._closing.set()
        super().server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that hang up."""


class StandIn:
    """A stand-in in a thread of this process."""

    def __init__(self, api_key: str = API_KEY, port: int = 0) -> None:
        self._server = _Server(port, api_key)
        self.api_key, self.service = api_key, self._server.service
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Wait until a condition holds, for two minutes at most."""
        until = time.monotonic() + 120
        while not done():
            assert time.monotonic() < until, "it did not happen in time"
            time.sleep(0.01)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default=API_KEY)
    arguments = parser.parse_args()
    standin = StandIn(arguments.api_key, arguments.port)
    print(standin.url, flush=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        standin.close()


if __name__ == "__main__":
    main()
