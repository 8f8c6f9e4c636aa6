"""What waits to be sent: events by session, bounded, in order. Guarded by one lock, which no call of the application takes."""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Callable

from ._spool import Spool, Spooled

MAX_EVENTS_PER_REQUEST = 500
#: The service takes 2 MiB; the rest is for context and participants.
MAX_EVENT_BYTES_PER_REQUEST = 1024 * 1024
MAX_EVENT_BYTES = 256 * 1024
#: Sessions of which the SDK remembers what it has sent.
MAX_SESSIONS = 10_000


@dataclass
class Item:
    """An event, or in a spooled outbox a batch with its body."""

    session: str
    #: JSON of the members of the request beside `events`, without braces.
    head: str
    #: JSON of each event, in UTF-8.
    events: list[bytes]
    status: str | None = None
    body: bytes | None = None
    spooled: int | None = None
    number: int = 0
    dropped: bool = False

    @property
    def size(self) -> int:
        return len(self.body) if self.body is not None else sum(map(len, self.events))


@dataclass
class Batch:
    """A request. Its body never changes."""

    items: list[Item]
    body: bytes
    failures: int = 0

    @property
    def count(self) -> int:
        return sum(len(item.events) for item in self.items)


@dataclass
class Lane:
    """The requests of one session, one after the other."""

    session: str
    items: deque[Item] = field(default_factory=deque)
    batch: Batch | None = None
    #: In the ready list, in the heap, or with a sender.
    scheduled: bool = False


class Outbox:
    def __init__(self, max_events: int, max_bytes: int, report: Callable[[Exception], None]) -> None:
        self.changed = threading.Condition()
        self.spool: Spool | None = None
        self.stats = {"sent": 0, "dropped": 0, "failed": 0, "retried": 0}
        self.events = 0
        self.bytes = 0
        self.closed = False
        self._max_events, self._max_bytes = max_events, max_bytes
        self._report = report
        self._lanes: dict[str, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._later: list[tuple[float, int, Lane]] = []
        self._waiting: OrderedDict[int, Item] = OrderedDict()
        self._number = 0
        self._paused_until = 0.0
        self._lost_contact = 0

    def add(self, items: list[Item]) -> None:
        """Queues what one call brought. Over the bound the oldest items that no request holds are dropped."""
        with self.changed:
            for item in items:
                self._add(item)
            self.changed.notify()

    def _add(self, item: Item) -> None:
        if self.spool is not None:
            item.body = item.body or body_of([item])
            if item.spooled is None:
                item.spooled = self._spooled(item)
        self._number += 1
        item.number = self._number
        self._waiting[item.number] = item
        self.events += len(item.events)
        self.bytes += item.size
        lane = self._lanes.setdefault(item.session, Lane(item.session))
        lane.items.append(item)
        while (self.events > self._max_events or self.bytes > self._max_bytes) and self._waiting:
            self._drop_oldest()
        self._schedule(lane)

    def _spooled(self, item: Item) -> int | None:
        try:
            assert self.spool is not None and item.body is not None
            return self.spool.add(Spooled(item.session, len(item.events), item.body))
        except OSError as error:
            self._report(error)
            return None

    def _drop_oldest(self) -> None:
        _, item = self._waiting.popitem(last=False)
        item.dropped = True
        self.stats["dropped"] += len(item.events)
        self._forget(item)
        self._report(OverflowError("the queue is full: the oldest messages were dropped"))

    def _forget(self, item: Item) -> None:
        self.events -= len(item.events)
        self.bytes -= item.size
        if item.spooled is not None and self.spool is not None:
            try:
                self.spool.done(item.spooled)
            except OSError as error:
                self._report(error)

    def _schedule(self, lane: Lane, at: float = 0.0) -> None:
        if lane.scheduled:
            return
        lane.scheduled = True
        if at <= 0.0:
            self._ready.append(lane)
        else:
            self._number += 1
            heapq.heappush(self._later, (at, self._number, lane))

    def take(self, wait: bool = True) -> tuple[Lane, Batch] | None:
        """The next request that is due. None: the outbox is closed, or nothing is due and `wait` is false."""
        with self.changed:
            while not self.closed:
                now = time.monotonic()
                pause: float | None
                while self._later and self._later[0][0] <= now:
                    self._ready.append(heapq.heappop(self._later)[2])
                if self._paused_until > now:
                    pause = self._paused_until - now
                else:
                    while self._ready:
                        lane = self._ready.popleft()
                        batch = lane.batch or self._build(lane)
                        if batch is not None:
                            lane.batch = batch
                            return lane, batch
                        self._release(lane)
                    pause = self._later[0][0] - now if self._later else None
                if not wait:
                    return None
                self.changed.wait(pause)
            return None

    def _build(self, lane: Lane) -> Batch | None:
        items: list[Item] = []
        size = count = 0
        while lane.items:
            item = lane.items[0]
            if not item.dropped:
                full = count + len(item.events) > MAX_EVENTS_PER_REQUEST or size + item.size > MAX_EVENT_BYTES_PER_REQUEST
                other = items and (item.head != items[0].head or item.body is not None or items[-1].status is not None)
                if items and (full or other):
                    break
                del self._waiting[item.number]
                items.append(item)
                size, count = size + item.size, count + len(item.events)
            lane.items.popleft()
            if items and items[0].body is not None:
                break
        return Batch(items, items[0].body or body_of(items)) if items else None

    def _release(self, lane: Lane) -> None:
        """The sender is done with the lane for now."""
        lane.scheduled = False
        if lane.items or lane.batch is not None:
            self._schedule(lane)
        else:
            self._lanes.pop(lane.session, None)

    def succeeded(self, lane: Lane, batch: Batch) -> None:
        with self.changed:
            self._lost_contact = 0
            self.stats["sent"] += batch.count
            self._finish(lane, batch)

    def refused(self, lane: Lane, batch: Batch, index: int | None) -> None:
        """The service will never take the request. Where it named one event, only this one is dropped."""
        with self.changed:
            self._lost_contact = 0
            if index is not None and batch.count > 1:
                rest = _without(batch, index)
                lost = batch.count - sum(len(item.events) for item in rest)
            else:
                rest, lost = [], batch.count
            self.stats["failed"] += lost
            for item in reversed(rest):
                self._number += 1
                item.number = self._number
                self.events += len(item.events)
                self.bytes += item.size
                if self.spool is not None:
                    item.body = body_of([item])
                    item.spooled = self._spooled(item)
                self._waiting[item.number] = item
                self._waiting.move_to_end(item.number, last=False)
                lane.items.appendleft(item)
            self._finish(lane, batch)

    def failed(self, lane: Lane, batch: Batch, pause: Callable[[int], float], shared: bool) -> None:
        """The request is sent again after a pause. `shared`: the other sessions wait, too."""
        with self.changed:
            batch.failures += 1
            self.stats["retried"] += 1
            if shared and self._paused_until <= time.monotonic():
                # Requests that were on their way together count as one failure.
                self._lost_contact += 1
            seconds = pause(max(1, self._lost_contact) if shared else batch.failures)
            at = time.monotonic() + seconds
            if shared:
                self._paused_until = max(self._paused_until, at)
            lane.scheduled = False
            self._schedule(lane, at)
            self.changed.notify_all()

    def _finish(self, lane: Lane, batch: Batch) -> None:
        lane.batch = None
        for item in batch.items:
            self._forget(item)
        self._release(lane)
        self.changed.notify_all()

    def wait_until_empty(self, deadline: float) -> bool:
        with self.changed:
            while self.events > 0 and not self.closed:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self.changed.wait(left)
            return self.events == 0

    def close(self) -> None:
        with self.changed:
            self.closed = True
            if self.spool is not None:
                # The next owner of the file sends what is left.
                self.spool.close()
                self.spool = None
            self.changed.notify_all()


def body_of(items: list[Item]) -> bytes:
    """The JSON of one request."""
    status = items[-1].status
    end = "" if status is None else f',"status":{json.dumps(status)}'
    all_events = [event for item in items for event in item.events]
    # The item that ends a session repeats its last event, because a request needs one.
    if status is not None and all_events[-1] in all_events[:-1]:
        del all_events[-1]
    events = b",".join(all_events)
    return f'{{{items[0].head}{end},"events":['.encode() + events + b"]}"


def _without(batch: Batch, index: int) -> list[Item]:
    rest: list[Item] = []
    place = 0
    for item in batch.items:
        kept = [event for at, event in enumerate(item.events, place) if at != index]
        place += len(item.events)
        if kept:
            rest.append(Item(item.session, item.head, kept, item.status))
    return rest


def as_json(value: Any) -> str:
    """@raises TypeError, ValueError where the value is not JSON"""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
