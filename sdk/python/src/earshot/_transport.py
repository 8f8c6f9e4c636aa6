"""HTTP with the standard library: kept connections, a time limit for each whole request, and proxies of the environment."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Mapping

MAX_ANSWER_BYTES = 64 * 1024 * 1024


class TransportError(Exception):
    """No answer: the connection failed, was lost, or took too long."""


@dataclass(frozen=True)
class Answer:
    status: int
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes


class Address:
    """Scheme, host, port and prefix of the service."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url.strip().rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be an http or https address, such as https://earshot.example.com")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.secure else 80)
        self.prefix = parts.path
        self.origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.proxy = _proxy(parts.scheme, self.host, self.port)


def _proxy(scheme: str, host: str, port: int) -> urllib.parse.SplitResult | None:
    found = urllib.request.getproxies().get(scheme)
    if not found or urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    return urllib.parse.urlsplit(found if "://" in found else f"http://{found}")


class Connection:
    """One connection, used by one thread at a time. A failed one is opened anew by the next request."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None = None) -> None:
        self._address = address
        self._tls = tls
        self._open: http.client.HTTPConnection | None = None

    def request(
        self, method: str, path: str, headers: Mapping[str, str], body: Any = None, timeout: float = 10.0
    ) -> Answer:
        """Sends the request and reads the whole answer within `timeout` seconds.

        @raises TransportError
        """
        kept = self._open is not None
        try:
            return self._once(method, path, headers, body, timeout)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            # The service closed an idle connection. Every request of the SDK may be repeated.
            if not kept or not (body is None or isinstance(body, bytes)):
                raise TransportError(_words(error)) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TransportError(_words(error)) from error
        try:
            return self._once(method, path, headers, body, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TransportError(_words(error)) from error

    def _once(self, method: str, path: str, headers: Mapping[str, str], body: Any, timeout: float) -> Answer:
        connection = self._open or self._connect(timeout)
        self._open = connection
        watch = _Watch.start(connection, timeout)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, self._target(path), body=body, headers={**self._proxy_headers(), **headers})
            response = connection.getresponse()
            data = response.read(MAX_ANSWER_BYTES + 1)
            if len(data) > MAX_ANSWER_BYTES:
                raise ValueError("the answer is too large")
            if response.will_close:
                self.close()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)
        except BaseException:
            self.close()
            if watch.fired:
                raise TimeoutError(f"no answer within {timeout:g} s") from None
            raise
        finally:
            watch.end()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        address, proxy = self._address, self._address.proxy
        host, port = (address.host, address.port) if proxy is None else (proxy.hostname or "", proxy.port or 80)
        if not address.secure:
            return _NoDelay(host, port, timeout=timeout)
        if self._tls is None:
            self._tls = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)
        if proxy is not None:
            connection.set_tunnel(address.host, address.port, _authorization(proxy))
        return connection

    def _target(self, path: str) -> str:
        plain_proxy = self._address.proxy is not None and not self._address.secure
        return f"{self._address.origin if plain_proxy else ''}{self._address.prefix}{path}"

    def _proxy_headers(self) -> dict[str, str]:
        address = self._address
        return {} if address.secure or address.proxy is None else _authorization(address.proxy)

    def close(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()


class _NoDelay(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        # Headers and body leave in two writes, which Nagle's algorithm would delay.
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _authorization(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Watch:
    """Cuts a connection whose request takes too long. The time-out of a socket counts from byte to byte, so it is not enough."""

    _lock = threading.Lock()
    _wake = threading.Condition(_lock)
    _all: set[_Watch] = set()
    _thread: threading.Thread | None = None

    def __init__(self, connection: http.client.HTTPConnection, deadline: float) -> None:
        self.connection = connection
        self.deadline = deadline
        self.fired = False

    @classmethod
    def start(cls, connection: http.client.HTTPConnection, timeout: float) -> _Watch:
        watch = cls(connection, time.monotonic() + timeout)
        with cls._wake:
            cls._all.add(watch)
            if cls._thread is None or not cls._thread.is_alive():
                cls._thread = threading.Thread(target=cls._run, name="earshot-watch", daemon=True)
                try:
                    cls._thread.start()
                except RuntimeError:  # The interpreter is ending. The time-out of the socket still holds.
                    cls._thread = None
            cls._wake.notify()
        return watch

    def end(self) -> None:
        with self._wake:
            self._all.discard(self)

    @classmethod
    def _run(cls) -> None:
        while True:
            with cls._wake:
                now = time.monotonic()
                for watch in [one for one in cls._all if one.deadline <= now]:
                    watch.fired = True
                    cls._all.discard(watch)
                    _cut(watch.connection)
                soonest = min((one.deadline for one in cls._all), default=None)
                # An idle process keeps the thread for a minute only.
                if not cls._wake.wait(60.0 if soonest is None else max(0.01, soonest - now)) and not cls._all:
                    cls._thread = None
                    return

    @classmethod
    def after_fork(cls) -> None:
        """The child has no threads, and a lock may have been held."""
        cls._lock = threading.Lock()
        cls._wake = threading.Condition(cls._lock)
        cls._all = set()
        cls._thread = None


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


after_fork = _Watch.after_fork
