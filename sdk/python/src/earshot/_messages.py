"""Messages of applications and frameworks as events of Earshot.

Understood: `{role, content}` of chat completions, parts of Anthropic and of the Vercel AI SDK, items of the OpenAI
Responses interface, and message objects of LangChain (`type`, `content`, `id`).
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any, Callable

#: Instructions and tools are no part of the conversation.
TYPES = {
    "user": "user_message",
    "human": "user_message",
    "assistant": "assistant_message",
    "ai": "assistant_message",
    # Gemini.
    "model": "assistant_message",
    # LangChain: a message that was streamed.
    "aimessagechunk": "assistant_message",
}

#: The parts that hold what was said. Reasoning, tool calls, images and files are no text.
TEXT_PARTS = ("text", "input_text", "output_text")


def event_of(message: Any) -> dict[str, Any] | None:
    """The event of one message: `type`, `content`, and `externalEventId` and `occurredAt` if the message has them.

    None: an instruction, a tool, or a message without text, such as one that only calls tools.

    @raises TypeError where it is no message at all
    """
    if message is None or isinstance(message, (str, bytes, int, float, list, tuple)):
        raise TypeError(f"a message is an object with a role, not {type(message).__name__}")
    role = _member(message, "role") or _member(message, "type")
    kind = TYPES.get(role.lower()) if isinstance(role, str) else None
    if kind is None:
        return None
    content = _member(message, "content")
    text = text_of(content if content is not None else _member(message, "parts"))
    if text.strip() == "":
        return None
    event: dict[str, Any] = {"type": kind, "content": text}
    own = _member(message, "id")
    if isinstance(own, (str, int)) and not isinstance(own, bool) and str(own).strip() != "":
        event["externalEventId"] = str(own)[:512]
    at = moment(_first(message, "occurredAt", "occurred_at", "createdAt", "created_at"))
    if at is not None:
        event["occurredAt"] = at
    return event


def text_of(content: Any) -> str:
    """The text of a message's content: the content itself, or its text parts, joined by empty lines."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, (list, tuple)):
        return ""
    return "\n\n".join(text for text in map(_part, content) if text != "")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = _member(part, "text")
    # Gemini marks its reasoning with `thought`.
    if isinstance(text, str) and _member(part, "type") in (*TEXT_PARTS, None) and not _member(part, "thought"):
        return text
    return ""


#: Numbers above are milliseconds, microseconds or nanoseconds. As seconds they would lie beyond the year 5000.
MOST_SECONDS = 1e11
#: RFC 3339, or a day alone.
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?")


def moment(value: Any) -> str | None:
    """RFC 3339 in UTC of a `datetime`, of Unix time, or of a text. None: no time, so the message counts as said now."""
    try:
        if isinstance(value, str):
            value = _parsed(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = _unix(float(value))
        if not isinstance(value, datetime):
            return None
        at = value.astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
    if not 1970 <= at.year < 2200:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _unix(value: float) -> datetime:
    for _ in range(3):
        if value >= MOST_SECONDS:
            value /= 1000
    return datetime.fromtimestamp(value, timezone.utc)


def _parsed(text: str) -> datetime | None:
    if not _TIME.fullmatch(text.strip()):
        return None
    # Python 3.10 reads neither Z nor a fraction of other than three or six digits.
    whole = re.sub(r"[Zz]$", "+00:00", text.strip())
    whole = re.sub(r"\.(\d+)", lambda found: "." + found[1][:6].ljust(6, "0"), whole)
    whole = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", whole) if len(whole) > 10 else whole
    at = datetime.fromisoformat(whole)
    # As in JavaScript, a day alone is in UTC.
    return at.replace(tzinfo=timezone.utc) if len(whole) == 10 else at


def storable(text: str) -> str:
    """The text without U+0000 and unpaired surrogates, which the service refuses."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with every text in it changed, but not the names of members."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {name: map_texts(item, change) for name, item in value.items()}
    return value


def person_of(person: Any) -> dict[str, Any] | None:
    """The participant of a person: the id alone, or an object with snake_case or camelCase members."""
    if person is None:
        return None
    if isinstance(person, (str, int)):
        return {"externalId": str(person)}
    names = {
        # `id`, `name` and `company` are the names of before, which go with the next version.
        "id": "externalId",
        "external_id": "externalId",
        "name": "displayName",
        "display_name": "displayName",
        "company": "companyExternalId",
        "company_external_id": "companyExternalId",
        "person_id": "personId",
    }
    return {names.get(name, name): value for name, value in person.items() if value is not None}


def camel(members: Any) -> dict[str, Any] | None:
    """The members of a context with names as the service has them: `product_area` becomes `productArea`."""
    if not members:
        return None

    def name_of(name: str) -> str:
        head, *rest = name.split("_")
        return head + "".join(word.capitalize() for word in rest)

    return {name_of(name): value for name, value in members.items() if value is not None}


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _first(value: Any, *names: str) -> Any:
    for name in names:
        found = _member(value, name)
        if found is not None:
            return found
    return None
