"""Ids of events that have none, as `POST /v3/rest/agent-conversations/append` derives them.

The SDK derives them over the whole history. So a message that is sent alone has the same id as in a request with all
messages, and several processes agree without talking to each other.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Iterable


def canonical_json(value: Any) -> str:
    """JSON text in which equal values have equal texts: sorted members, no white space, numbers as JavaScript writes them."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical_json(item) for item in value) + "]"
    if isinstance(value, dict):
        names = sorted((str(name) for name in value), key=_name_order)
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(value[name])}" for name in names) + "}"
    raise TypeError(f"{type(value).__name__} is not JSON")


def _name_order(name: str) -> tuple[bool, int, bytes]:
    # JavaScript writes names that are array indices first, and sorts the others by UTF-16 code units.
    index = name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and int(name) < 2**32 - 1
    return (not index, int(name) if index else 0, name.encode("utf-16-be", "surrogatepass"))


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if 1e-7 < abs(value) < 1e-4:
        digits, exponent = f"{text}e0".split("e")[:2]
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits.replace('.', '')}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent):+d}" if exponent else text


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def derived_ids(events: Iterable[dict[str, Any]]) -> list[str]:
    """The ids of the events in their order: their own `externalEventId`, or else the derived one (64 hexadecimal digits)."""
    counts: dict[str, int] = {}
    ids: list[str] = []
    for event in events:
        own = event.get("externalEventId")
        if own is not None:
            ids.append(own)
            continue
        target = (event.get("feedback") or {}).get("targetEventExternalId")
        said = sha256(canonical_json([event["type"], event.get("content"), target]))
        counts[said] = counts.get(said, 0) + 1
        ids.append(sha256(f"{said} {counts[said]}"))
    return ids
