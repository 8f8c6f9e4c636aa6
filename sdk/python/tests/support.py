"""An HTTP server of the test process that answers as the test says, and records what it received."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

VECTORS = Path(__file__).resolve().parents[2] / "vectors"

#: Status, headers and body of an answer, or None: the connection is cut without one.
Reply = tuple[int, dict[str, str], Any] | None


def stored(request: dict[str, Any]) -> Reply:
    return (200, {}, {"acceptedEventCount": len(request["body"]["events"])})


class FakeService:
    """Used as `with FakeService(…) as service`."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] = stored) -> None:
        self.requests: list[dict[str, Any]] = []
        self.reply = reply
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                plain = gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw
                request = {"raw": plain, "body": json.loads(plain), "headers": dict(self.headers), "at": time.monotonic()}
                service.requests.append(request)
                answer = service.reply(request)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, body = answer
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass  # The client gave up, as the test wanted.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> FakeService:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def events(self) -> list[dict[str, Any]]:
        return [event for request in self.requests for event in request["body"]["events"]]

    def options(self, **more: Any) -> dict[str, Any]:
        return {"url": self.url, "agent_key": "demo", "secret": "s", **more}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def environment() -> dict[str, str]:
    source = str(Path(__file__).resolve().parents[1] / "src")
    return {**os.environ, "PYTHONPATH": source}


def eventually(attempt: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not attempt():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen")
        time.sleep(0.005)
