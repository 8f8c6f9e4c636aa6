"""When a failed request is sent again. Pure."""

from __future__ import annotations

import random
from datetime import timezone
from email.utils import parsedate_to_datetime

#: The first pause and the longest one, in seconds.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
#: A longer `Retry-After` counts as this many seconds.
LONGEST_RETRY_AFTER = 600.0


#: The quota of the organization is used up (507): only its operator or a deletion helps.
QUOTA_EXCEEDED = "quota_exceeded"


def is_transient(status: int, code: str | None = None) -> bool:
    """Whether a request with this HTTP status and error code is sent again."""
    if code == QUOTA_EXCEEDED:
        return False
    return status in (408, 425, 429) or status >= 500


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait by the header `Retry-After` (RFC 9110, 10.2.3): seconds or a date. None if it is absent or unreadable.

    `now`: Unix seconds.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return min(max(0.0, at.timestamp() - now), LONGEST_RETRY_AFTER)


def backoff(failures: int, chance: float | None = None) -> float:
    """Seconds to wait after this many failures in a row (from 1). The pauses double; half of each is random.

    `chance`: 0 up to 1; by default a random number.
    """
    full = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE)
    return full * (0.5 + 0.5 * (random.random() if chance is None else chance))


