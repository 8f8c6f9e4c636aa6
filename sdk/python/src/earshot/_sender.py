"""The threads that prepare and send what the application says."""

from __future__ import annotations

import gzip
import json
import random
import threading
import time
from typing import Any, Callable

from . import _retry
from ._outbox import Batch, Lane, Outbox
from ._transport import Address, Answer, Connection, TransportError
from .errors import EarshotError

PATH = "/v3/rest/agent-conversations/append"
#: Smaller bodies are sent as they are.
GZIP_BYTES = 8 * 1024


class Sender:
    """Sends what is due in an outbox. One request of a session at a time, several sessions at once."""

    def __init__(
        self,
        outbox: Outbox,
        address: Address,
        secret: str,
        user_agent: str,
        timeout: float,
        report: Callable[[Exception], None],
    ) -> None:
        self._outbox = outbox
        self._address = address
        self._headers = {
            "Content-Type": "application/json",
            "User-Agent": user_agent,
            "X-Service-Agent-Key": secret,
        }
        self._timeout = timeout
        self._report = report

    def start(self, threads: int) -> None:
        """@raises RuntimeError where the interpreter is ending"""
        for number in range(threads):
            threading.Thread(target=self._run, name=f"earshot-{number}", daemon=True).start()

    def _run(self) -> None:
        connection = Connection(self._address)
        while (due := self._outbox.take()) is not None:
            self._send_safely(connection, *due)
        connection.close()

    def send_due(self, deadline: float) -> None:
        """Sends in the calling thread. Used where no thread can start any more."""
        connection = Connection(self._address)
        while time.monotonic() < deadline and (due := self._outbox.take(wait=False)) is not None:
            self._send_safely(connection, *due)
        connection.close()

    def _send_safely(self, connection: Connection, lane: Lane, batch: Batch) -> None:
        try:
            self._send(connection, lane, batch)
        except Exception as error:  # A fault of the SDK must not stop the sending of everything else.
            self._report(error)
            self._outbox.failed(lane, batch, _retry.backoff, shared=False)

    def _send(self, connection: Connection, lane: Lane, batch: Batch) -> None:
        try:
            answer = connection.request("POST", PATH, *self._packed(batch.body), self._timeout)
        except TransportError:
            self._outbox.failed(lane, batch, _retry.backoff, shared=True)
            return
        if 200 <= answer.status < 300:
            self._outbox.succeeded(lane, batch)
        elif _retry.is_transient(answer.status, error_of(answer).code):
            asked = _retry.retry_after(answer.headers.get("retry-after"), time.time())
            # A limit or a stopped service concerns all sessions; another 5xx may be the fault of this request.
            shared = answer.status in (429, 503)
            self._outbox.failed(lane, batch, _pause(asked), shared)
        else:
            error = error_of(answer)
            self._outbox.refused(lane, batch, _index_of(error, batch))
            self._report(error)

    def _packed(self, body: bytes) -> tuple[dict[str, str], bytes]:
        if len(body) < GZIP_BYTES:
            return self._headers, body
        return {**self._headers, "Content-Encoding": "gzip"}, gzip.compress(body, 5, mtime=0)


def _pause(asked: float | None) -> Callable[[int], float]:
    # A little randomness keeps many senders from coming back at the same moment.
    return _retry.backoff if asked is None else lambda _: asked + random.uniform(0.0, 0.1 * asked + 0.05)


def _index_of(error: EarshotError, batch: Batch) -> int | None:
    index = error.body.get("eventIndex")
    return index if isinstance(index, int) and 0 <= index < batch.count else None


def error_of(answer: Answer) -> EarshotError:
    """What an answer other than 2xx says."""
    try:
        body: Any = json.loads(answer.body)
    except ValueError:
        body = None
    known = body if isinstance(body, dict) else {}
    code = known.get("code")
    message = known.get("message")
    words = f"the service answered {answer.status}" + (f" ({code}): {message}" if code else "")
    return EarshotError(words, answer.status, code if isinstance(code, str) else None, body)
