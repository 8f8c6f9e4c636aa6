"""Verification of webhooks (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Iterable, Mapping

from .errors import WebhookVerificationError
from .types import JsonObject

#: Seconds that the time of a webhook may differ from now.
TOLERANCE = 300


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> JsonObject:
    """The event `{type, timestamp, data}` of a webhook whose signature is right.

    `body`: the bytes as received. `headers`: names in any case. `secret`: `whsec_…`, or several of them.

    @raises WebhookVerificationError
    """
    data = body.encode() if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise WebhookVerificationError(f"the header {error.args[0]} is missing") from None
    _check_time(sent, time.time() if now is None else now, tolerance)
    signed = f"{id}.{sent}.".encode() + data
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [hmac.new(_key(one), signed, hashlib.sha256).digest() for one in secrets]
    if not any(hmac.compare_digest(known, one) for one in _signatures(signatures) for known in expected):
        raise WebhookVerificationError("no signature matches")
    try:
        event = json.loads(data)
    except ValueError:
        raise WebhookVerificationError("the body is not JSON") from None
    if not isinstance(event, dict):
        raise WebhookVerificationError("the body is not an object")
    return event


def _check_time(sent: str, now: float, tolerance: float) -> None:
    if not (sent.isascii() and sent.isdigit()) or len(sent) > 15:
        raise WebhookVerificationError("the header webhook-timestamp is not a time")
    if abs(now - int(sent)) > tolerance:
        raise WebhookVerificationError("the webhook is too old, or the clocks differ")


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise WebhookVerificationError("the secret is not whsec_ and base64") from None


def _signatures(header: str) -> list[bytes]:
    found: list[bytes] = []
    for one in header.split():
        version, _, value = one.partition(",")
        if version == "v1":
            try:
                found.append(base64.b64decode(value, validate=True))
            except (binascii.Error, ValueError):
                continue
    return found
