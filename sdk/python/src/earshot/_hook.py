"""What the hooks of the frameworks share."""

from __future__ import annotations

from typing import Any, Mapping

from ._client import AsyncEarshot, Earshot, Session
from ._messages import TYPES, text_of

#: Metadata that names the conversation, the first that is there. LangGraph has `thread_id`.
SESSION_KEYS = ("conversation_id", "conversationId", "session_id", "sessionId", "thread_id")
#: Calls with one of these tags are no part of the conversation, such as one that makes a title.
IGNORE_TAGS = ("earshot:ignore", "earshot:skip")
#: Metadata that names the person.
PERSON_KEYS = ("user_id", "userId", "person_id")

Client = Earshot | AsyncEarshot


def said(message: Any) -> dict[str, Any] | None:
    """The message without its id, or None if it is no part of the conversation.

    Frameworks give ids to some copies of a message and not to others. Derived ids are the same for all copies.
    """
    role = member(message, "role") or member(message, "type")
    if not isinstance(role, str) or role.lower() not in TYPES:
        return None
    return {"role": role, "content": text_of(member(message, "content"))}


def history(messages: Any, answer: str) -> list[dict[str, Any]]:
    found = [message for message in map(said, messages) if message is not None]
    return [*found, {"role": "assistant", "content": answer}]


def messages_of(sent: Any) -> list[Any]:
    """What a call has sent: a text, or messages."""
    return [{"role": "user", "content": sent}] if isinstance(sent, str) else list(sent or [])


def sync_response(session: Session, messages: list[Any], response: Any) -> None:
    """Hands over a call of the Responses interface of OpenAI and its answer."""
    items = [item for item in member(response, "output") or [] if member(item, "type") == "message"]
    if member(response, "previous_response_id") or member(response, "conversation"):
        # The service of OpenAI keeps the history, and the call has only what is new: its ids come from the response.
        spoken = [message for message in (*map(said, messages), *map(said, items)) if message is not None]
        id = member(response, "id")
        session.sync([{**message, "id": f"{id}.{number}"} for number, message in enumerate(spoken)])
    else:
        session.sync(history(messages, "\n\n".join(filter(None, (text_of(member(item, "content")) for item in items)))))


def named(metadata: Any, keys: tuple[str, ...]) -> str | None:
    if not isinstance(metadata, Mapping):
        return None
    values = [metadata[key] for key in keys if metadata.get(key) not in (None, "")]
    return str(values[0]) if values else None


def member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
