"""Turns calls of the application into events: shapes, redaction, ids, and what is new. Runs in one background thread."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

from . import _messages
from ._ids import derived_ids, sha256
from ._outbox import MAX_EVENT_BYTES, MAX_SESSIONS, Item, as_json
from .types import Redact

#: The longest last event that is kept for `end`, in bytes.
MAX_LAST_BYTES = 16 * 1024


class Call(NamedTuple):
    kind: str
    session: str
    person: Any
    context: Any
    agent_version: str | None
    value: Any
    #: Unix seconds.
    at: float


@dataclass
class Known:
    """What was queued of a session: ids with a hash of the text, and the last event."""

    texts: dict[str, bytes]
    last: bytes | None = None


class Preparer:
    def __init__(self, head: dict[str, Any], redact: Redact | None) -> None:
        self.failed = 0
        self._head = head
        self._redact = redact
        self._sessions: OrderedDict[str, Known] = OrderedDict()

    def items_of(self, call: Call, report: Callable[[Exception], None]) -> list[Item]:
        known = self._known(call.session)
        participant = _messages.person_of(call.person)
        head = self._head_of(call, participant)
        author = None if participant is None else participant.get("externalId")
        if call.kind == "end":
            last = known.last or _end_marker()
            return [Item(call.session, head, [last], status=call.value)]
        events = self._feedback(call, known) if call.kind == "feedback" else self._new(call, known, report)
        items: list[Item] = []
        for event in events:
            if author is not None and event["type"] in ("user_message", "feedback"):
                event["participantExternalId"] = author
            event.setdefault("occurredAt", _messages.moment(call.at))
            data = as_json(event).encode()
            if len(data) > MAX_EVENT_BYTES:
                self.failed += 1
                report(ValueError(f"a message of {len(data)} bytes is larger than the {MAX_EVENT_BYTES} that are stored"))
                continue
            items.append(Item(call.session, head, [data]))
            known.last = data if len(data) <= MAX_LAST_BYTES else known.last
        return items

    def _known(self, session: str) -> Known:
        known = self._sessions.pop(session, None) or Known({})
        self._sessions[session] = known
        if len(self._sessions) > MAX_SESSIONS:
            # A forgotten session is sent as a whole once more, which stores nothing twice.
            self._sessions.popitem(last=False)
        return known

    def _head_of(self, call: Call, participant: dict[str, Any] | None) -> str:
        members: dict[str, Any] = {**self._head, "externalSessionId": call.session}
        if call.agent_version is not None:
            members["agentVersion"] = call.agent_version
        context = _messages.camel(call.context)
        if context:
            members["context"] = _messages.map_texts(context, _messages.storable)
        if participant:
            members["participants"] = [_messages.map_texts(participant, _messages.storable)]
        return as_json(members)[1:-1]

    def _new(self, call: Call, known: Known, report: Callable[[Exception], None]) -> list[dict[str, Any]]:
        events = self._events(call.value, report)
        found: list[dict[str, Any]] = []
        for event, id in zip(events, derived_ids(events)):
            text = _hash(event)
            if known.texts.get(id) != text:
                known.texts[id] = text
                found.append({"externalEventId": id, **event})
        return found

    def _events(self, messages: list[Any], report: Callable[[Exception], None]) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for message in messages:
            try:
                event = _messages.event_of(message)
                if event is not None:
                    event["content"] = self._text(event["content"])
                    events.append(event)
            except Exception as error:  # One strange message, or a fault of `redact`: nothing unredacted is sent.
                self.failed += 1
                report(error)
        return events

    def _text(self, text: str) -> str:
        storable = _messages.storable(text)
        return storable if self._redact is None else _messages.storable(self._redact(storable))

    def _feedback(self, call: Call, known: Known) -> list[dict[str, Any]]:
        message, rating, comment, labels = call.value
        feedback: dict[str, Any] = {"targetEventExternalId": self._target(message, known)}
        if rating is not None:
            feedback["rating"] = rating
        if labels:
            feedback["labels"] = [self._text(label) for label in labels]
        if comment:
            feedback["comment"] = self._text(comment)
        event: dict[str, Any] = {"type": "feedback", "feedback": feedback}
        return [{"externalEventId": derived_ids([event])[0], **event}]


    def _target(self, message: Any, known: Known) -> str:
        """@raises ValueError where the message is unknown"""
        if isinstance(message, (str, int)):
            return str(message)
        event = _messages.event_of(message) or {}
        own = event.get("externalEventId")
        if own is not None and own in known.texts:
            return str(own)
        if event:
            event["content"] = self._text(event["content"])
            text = _hash(event)
            for id, said in reversed(known.texts.items()):
                if said == text:
                    return id
        # Another process may have sent it. A hook may have sent it without its id, so its text is looked up first.
        if own is not None:
            return str(own)
        raise ValueError("feedback needs the id of a message, or a message that was passed to sync")


def _hash(event: dict[str, Any]) -> bytes:
    return hashlib.blake2b(f"{event['type']} {event['content']}".encode(), digest_size=8).digest()


def _end_marker() -> bytes:
    """The event that carries the status where this process has sent no message of the session."""
    return as_json({"externalEventId": sha256("session_ended"), "type": "session_ended"}).encode()
