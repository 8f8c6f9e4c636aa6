"""Earshot: hear your customers. Sends conversations of AI agents, and reads what customers say.

    from earshot import Earshot

    earshot = Earshot(url="http://localhost:3000", agent_key="demo", secret="…")
    earshot.session("chat-1", person="customer-7").sync([{"role": "user", "content": "Where is my invoice?"}])
"""

from ._client import AsyncEarshot, Earshot, Session
from .errors import EarshotError, WebhookVerificationError
from .reader import AsyncReader, Reader
from .types import Context, JsonObject, Person, Rating, Stats
from .version import VERSION as __version__
from .webhooks import verify_webhook

__all__ = [
    "AsyncEarshot",
    "AsyncReader",
    "Context",
    "Earshot",
    "EarshotError",
    "JsonObject",
    "Person",
    "Rating",
    "Reader",
    "Session",
    "Stats",
    "WebhookVerificationError",
    "__version__",
    "verify_webhook",
]
