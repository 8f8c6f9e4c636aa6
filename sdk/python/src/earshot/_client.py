"""The client that applications use. Its calls only put what they are given into a queue."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import queue
import sys
import threading
import time
import weakref
from typing import Any, Iterable

from . import _messages, _transport
from ._outbox import Item, Outbox
from ._prepare import Call, Preparer
from ._sender import Sender
from ._spool import Spool
from .types import ContextLike, EndStatus, OnError, PersonLike, Rating, Redact, Stats
from .version import VERSION

log = logging.getLogger("earshot")
#: Calls that may wait to be prepared, which takes well below a millisecond each.
MAX_CALLS = 10_000


class Session:
    """One conversation. Made by `Earshot.session`; keeps nothing itself, so make it as often as you like."""

    __slots__ = ("_client", "_call", "id")

    def __init__(self, client: _Client, id: str, person: Any, context: Any, agent_version: str | None) -> None:
        self._client = client
        self.id = id
        self._call = (person, context, agent_version)

    def sync(self, messages: Iterable[Any]) -> None:
        """Takes the whole history, and sends what is new or changed. Returns at once.

        A message is `{"role": "user" | "assistant", "content": …, "id"?: …, "occurred_at"?: …}`, or a
        message of OpenAI, Anthropic, LangChain or the Vercel AI SDK. Without ids, pass the history from its beginning: the ids
        are derived from the texts and how often they have occurred. A changed text under the same id corrects the message.
        """
        self._put("sync", messages)

    def feedback(
        self,
        message: Any,
        rating: Rating | None = None,
        comment: str | None = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        """What the person thought of an answer. Returns at once.

        `message`: the id that the answer has in `sync`, or the message itself, which means the newest with its text.
        """
        self._put("feedback", (message, rating, comment, labels))

    def end(self, status: EndStatus = "ended") -> None:
        """Marks the conversation as over. Returns at once."""
        self._put("end", status)

    def _put(self, kind: str, value: Any) -> None:
        client = self._client
        try:
            if kind == "sync":
                # Applications go on changing their list and its messages.
                value = [dict(one) if type(one) is dict else one for one in value]
            client._put(Call(kind, self.id, *self._call, value, time.time()))
        except Exception as error:  # Nothing reaches the application.
            client._count_lost(1)
            client._report(error)


class _Client:
    def __init__(
        self,
        *,
        url: str | None = None,
        agent_key: str | None = None,
        secret: str | None = None,
        redact: Redact | None = None,
        on_error: OnError | None = None,
        spool: str | os.PathLike[str] | None = None,
        max_queue_events: int = 10_000,
        max_queue_bytes: int = 64 * 1024 * 1024,
        connections: int = 4,
        timeout: float = 10.0,
        exit_timeout: float = 5.0,
    ) -> None:
        self._on_error = on_error
        self._reported: dict[str, float] = {}
        self._limits = (max_queue_events, max_queue_bytes)
        self._connections = max(1, connections)
        self._timeout = timeout
        self._exit_timeout = exit_timeout
        self._redact = redact
        self._spool_path = None if spool is None else os.fspath(spool)
        self._agent_key = agent_key or os.environ.get("EARSHOT_AGENT_KEY") or ""
        self._secret = secret or os.environ.get("EARSHOT_SECRET") or ""
        self._address = self._address_of(url or os.environ.get("EARSHOT_URL") or "")
        self._closed = False
        self._reset()
        _clients.add(self)
        if self._spool_path is not None and self._sender is not None:
            self._start()  # What an earlier process left is sent at once.

    def _address_of(self, url: str) -> _transport.Address | None:
        settings = (("url", url), ("agent_key", self._agent_key), ("secret", self._secret))
        missing = [name for name, value in settings if not value]
        try:
            if missing:
                raise ValueError(f"nothing is sent, because Earshot has no {', '.join(missing)}")
            return _transport.Address(url)
        except ValueError as error:
            self._report(error)
            return None

    def _reset(self) -> None:
        """Also run in a forked child: it has no threads, and what its parent queued the parent sends."""
        self._inbox: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._started = False
        self._thread: threading.Thread | None = None
        self._lost = 0
        self._outbox = Outbox(*self._limits, self._report)
        head = {"agentKey": self._agent_key, "source": {"sdk": "earshot-python", "version": VERSION}}
        self._preparer = Preparer(head, self._redact)
        agent = f"earshot-python/{VERSION}"
        self._sender = (
            None
            if self._address is None
            else Sender(self._outbox, self._address, self._secret, agent, self._timeout, self._report)
        )

    def _reset_after_fork(self) -> None:
        spool = self._outbox.spool
        if spool is not None:
            spool.close()
        self._reset()

    def session(
        self,
        id: str,
        *,
        person: PersonLike = None,
        context: ContextLike = None,
        agent_version: str | None = None,
    ) -> Session:
        """A handle for one conversation. `id`: your own id of the conversation, the same in every process."""
        return Session(self, str(id), person, context, agent_version)

    def stats(self) -> Stats:
        """Counts since the start of the process."""
        outbox = self._outbox
        counts = outbox.stats
        return {
            "queued": outbox.events + self._inbox.qsize(),
            "sent": counts["sent"],
            "dropped": counts["dropped"] + self._lost,
            "failed": counts["failed"] + self._preparer.failed,
            "retried": counts["retried"],
        }

    def _put(self, call: Call) -> None:
        if self._sender is None or self._closed:
            self._count_lost(1)
            return
        if not self._started:
            self._start()
        if self._inbox.qsize() >= MAX_CALLS:
            oldest = self._inbox.get_nowait()
            if oldest is not None and oldest.kind == "flush":
                oldest.value.set()
            self._count_lost(1)
        self._inbox.put(call)

    def _count_lost(self, count: int) -> None:
        self._lost += count

    def _start(self) -> None:
        with self._starting:
            if self._started:
                return
            self._started = True
            try:
                thread = threading.Thread(target=self._run, name="earshot-prepare", daemon=True)
                thread.start()
                self._thread = thread
            except RuntimeError:
                return  # The interpreter is ending: `flush` does the work in its own thread.
            _flush_at_the_end_of_child()

    def _run(self) -> None:
        inbox, outbox, sender = self._inbox, self._outbox, self._sender
        self._open_spool()
        if sender is not None:
            try:
                sender.start(self._connections)
            except RuntimeError:
                pass
        while (call := inbox.get()) is not None:
            self._prepare(call)
        outbox.close()

    def _prepare(self, call: Call) -> None:
        if call.kind == "flush":
            call.value.set()
            return
        try:
            self._outbox.add(self._preparer.items_of(call, self._report))
        except Exception as error:
            self._preparer.failed += 1
            self._report(error)

    def _open_spool(self) -> None:
        if self._spool_path is None or self._outbox.spool is not None:
            return
        try:
            spool = Spool(self._spool_path)
            batches = spool.take_over()
            numbers = spool.restart(batches)
        except (OSError, ValueError) as error:
            self._report(error)
            return
        self._outbox.spool = spool
        for batch, number in zip(batches, numbers):
            # The number of events is kept for the counters; the body is sent as it was.
            events = [b""] * batch.events
            self._outbox.add([Item(batch.session, "", events, body=batch.body, spooled=number)])

    def _flush(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        if self._sender is None or not self._started:
            return True
        prepared = threading.Event()
        self._inbox.put(Call("flush", "", None, None, None, prepared, 0.0))
        if self._thread is None or not self._thread.is_alive():
            self._flush_inline(deadline)
        prepared.wait(max(0.0, deadline - time.monotonic()))
        return prepared.is_set() and self._outbox.wait_until_empty(deadline)

    def _flush_inline(self, deadline: float) -> None:
        self._open_spool()
        while not self._inbox.empty():
            call = self._inbox.get()
            if call is not None:
                self._prepare(call)
        if self._sender is not None:
            self._sender.send_due(deadline)

    def _close(self, timeout: float) -> bool:
        done = self._flush(timeout)
        self._closed = True
        self._inbox.put(None)
        self._outbox.close()
        return done

    def _report(self, error: Exception) -> None:
        try:
            if self._on_error is not None:
                self._on_error(error)
                return
            # The log names each kind of fault once a minute.
            kind, now = f"{type(error).__name__} {getattr(error, 'code', '')}", time.monotonic()
            if now - self._reported.get(kind, -60.0) >= 60.0:
                self._reported[kind] = now
                log.warning("earshot: %s", error)
        except Exception:
            pass  # A fault in the callback must not reach the application either.


class Earshot(_Client):
    """Sends the conversations of an AI agent to Earshot.

    `url`, `agent_key`, `secret`: by default EARSHOT_URL, EARSHOT_AGENT_KEY, EARSHOT_SECRET. `redact`: called with every text
    before it is queued. `on_error`: called with every error, in a background thread; by default errors are logged.
    `spool`: a file in which what waits survives a crash. `max_queue_events`, `max_queue_bytes`: over these bounds the oldest
    events are dropped and counted. `connections`: requests at once. `timeout`: seconds for one request. `exit_timeout`:
    seconds that the end of the process waits for what is queued.

    No method raises an error of the service or the network, and `sync`, `feedback` and `end` never wait.
    """

    def flush(self, timeout: float = 30.0) -> bool:
        """Waits until everything is sent. False: something still waits after `timeout` seconds."""
        return self._flush(timeout)

    def close(self, timeout: float = 30.0) -> bool:
        """Flushes, and stops the threads. Later messages are dropped and counted."""
        return self._close(timeout)

    def __enter__(self) -> Earshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEarshot(_Client):
    """`Earshot` for asyncio: `flush` and `close` are coroutines. The other calls never wait, so they are the same."""

    async def flush(self, timeout: float = 30.0) -> bool:
        """Waits until everything is sent. False: something still waits after `timeout` seconds."""
        return await asyncio.to_thread(self._flush, timeout)

    async def close(self, timeout: float = 30.0) -> bool:
        """Flushes, and stops the threads. Later messages are dropped and counted."""
        return await asyncio.to_thread(self._close, timeout)

    async def __aenter__(self) -> AsyncEarshot:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_clients: weakref.WeakSet[_Client] = weakref.WeakSet()


def _flush_all() -> None:
    started = [client for client in list(_clients) if client._started]
    begun = time.monotonic()
    for client in started:
        client._flush(max(0.0, begun + client._exit_timeout - time.monotonic()))


def _after_fork() -> None:
    _transport.after_fork()
    for client in list(_clients):
        client._reset_after_fork()


def _flush_at_the_end_of_child() -> None:
    """Children of `multiprocessing` end without `atexit`, but run the finalizers of that module."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _flush_all, exitpriority=0)


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
