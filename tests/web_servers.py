"""Small web servers that stand for others in tests: a class derived from `Handler` says what they answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers requests without writing a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[Handler]) -> Iterator[str]:
    """Serve on a free port during the block, and give the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
