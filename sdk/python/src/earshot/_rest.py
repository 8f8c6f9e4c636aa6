"""Requests to the REST interface, with retries. Used by the reading client and by uploads."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.parse
from typing import Any, Callable, Mapping

from . import _retry
from ._sender import error_of
from ._transport import Address, Answer, Connection, TransportError
from .errors import EarshotError
from .version import VERSION


class Rest:
    """`api_key`: key of the organization; `token`: access token of a user. By default EARSHOT_URL and EARSHOT_API_KEY.

    @raises ValueError where the address or the credential is missing
    """

    def __init__(self, url: str | None, api_key: str | None, token: str | None, timeout: float, attempts: int) -> None:
        self.address = Address(url or os.environ.get("EARSHOT_URL") or "")
        key = api_key or (None if token else os.environ.get("EARSHOT_API_KEY"))
        if not key and not token:
            raise ValueError("api_key or token is required")
        credential = {"X-Service-Api-Key": key} if key else {"Authorization": f"Bearer {token}"}
        self._headers: dict[str, str] = {"User-Agent": f"earshot-python/{VERSION}", **credential}
        self.timeout = timeout
        self.attempts = max(1, attempts)
        # A connection belongs to one thread, and does not outlive a fork.
        self._local = threading.local()

    def send(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The JSON of the answer. Only for requests that may be repeated.

        @raises EarshotError
        """
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        target = path + _query(query or {})
        answer = with_retries(
            lambda: self._connection().request(method, target, headers, data, self.timeout), self.attempts
        )
        return json.loads(answer.body) if answer.body else None

    def _connection(self) -> Connection:
        owner = (os.getpid(), threading.get_ident())
        if getattr(self._local, "owner", None) != owner:
            self._local.owner = owner
            self._local.connection = Connection(self.address)
        connection: Connection = self._local.connection
        return connection


def with_retries(request: Callable[[], Answer], attempts: int) -> Answer:
    """@raises EarshotError"""
    for failures in range(1, attempts + 1):
        asked: float | None = None
        try:
            answer = request()
            if 200 <= answer.status < 300:
                return answer
            error = error_of(answer)
            if not _retry.is_transient(answer.status, error.code):
                raise error
            asked = _retry.retry_after(answer.headers.get("retry-after"), time.time())
        except TransportError as failure:
            error = EarshotError(f"the service did not answer: {failure}")
        if failures == attempts:
            raise error
        time.sleep(_retry.backoff(failures) if asked is None else asked)
    raise AssertionError("unreachable")


def _query(members: Mapping[str, Any]) -> str:
    pairs = [(name, _text(value)) for name, value in members.items() if value is not None]
    return f"?{urllib.parse.urlencode(pairs)}" if pairs else ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def quoted(id: Any) -> str:
    return urllib.parse.quote(str(id), safe="")
