"""Errors of the SDK. No message has a credential or an upload URL."""

from __future__ import annotations

from typing import Any


class EarshotError(Exception):
    """The service refused a request, or did not answer.

    `status`: the HTTP status; None without an answer. `code`: the stable code of the service, such as `validation_failed`.
    `body`: further members of the answer.
    """

    def __init__(self, message: str, status: int | None = None, code: str | None = None, body: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body: dict[str, Any] = body if isinstance(body, dict) else {}


class WebhookVerificationError(ValueError):
    """The signature of a webhook is missing, wrong or too old."""
