"""The reading client: lists as iterators that follow the cursors, and uploads."""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import Any, AsyncIterator, Callable, Iterator

from ._rest import Rest, quoted
from .types import JsonObject
from .upload import OnProgress, upload

SESSIONS = "/v3/rest/agent-conversations/sessions"
SOURCES = "/v3/rest/feedback-sources"


class Reader:
    """Reads with the key of the organization or the token of a user. Lists are iterators; a page is read when it is needed.

    Filters are those of the REST interface, such as `since="2026-01-01T00:00:00Z"`. Requests are repeated up to `attempts`
    times on 408, 429, 5xx and lost connections; other errors are `EarshotError`.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        api_key: str | None = None,
        token: str | None = None,
        timeout: float = 30.0,
        attempts: int = 5,
    ) -> None:
        self._rest = Rest(url, api_key, token, timeout, attempts)

    def conversations(self, **filters: Any) -> Iterator[JsonObject]:
        """Sessions, newest first."""
        return self.pages(SESSIONS, **filters)

    def conversation(self, id: str) -> JsonObject:
        """One session, with the first page of its events."""
        return self.get(f"{SESSIONS}/{quoted(id)}")

    def events(self, conversation_id: str, **filters: Any) -> Iterator[JsonObject]:
        """The events of a session in their order."""
        return self.pages(f"{SESSIONS}/{quoted(conversation_id)}", "events", **filters)

    def signals(self, **filters: Any) -> Iterator[JsonObject]:
        """Explicit feedback on answers, and what the analyser found."""
        return self.pages("/v3/rest/signals", **filters)

    def findings(self, **filters: Any) -> Iterator[JsonObject]:
        """Deprecated: `signals`. It goes with the next version."""
        warnings.warn("Reader.findings is called signals", DeprecationWarning, stacklevel=2)
        return self.signals(**filters)

    def feedback_sources(self, **filters: Any) -> Iterator[JsonObject]:
        """Where feedback records come from, such as a survey."""
        return self.pages(SOURCES, **filters)

    def feedback_records(self, source_id: int | None = None, **filters: Any) -> Iterator[JsonObject]:
        """Feedback records of one source, or of all sources one after the other."""
        sources = [source_id] if source_id is not None else (source["id"] for source in self.feedback_sources())
        for id in sources:
            yield from self.pages(f"{SOURCES}/{quoted(id)}/records", **filters)

    def feedback(self, source_id: int | None = None, **filters: Any) -> Iterator[JsonObject]:
        """Deprecated: `feedback_records`. It goes with the next version."""
        warnings.warn("Reader.feedback is called feedback_records", DeprecationWarning, stacklevel=2)
        return self.feedback_records(source_id, **filters)

    def people(self, **filters: Any) -> Iterator[JsonObject]:
        """Customers, as known from all channels."""
        return self.pages("/v3/rest/people", **filters)

    def themes(self, **filters: Any) -> Iterator[JsonObject]:
        """Subjects that customers speak or write about."""
        return self.pages("/v3/rest/themes", **filters)

    def recordings(self, **filters: Any) -> Iterator[JsonObject]:
        """Recorded calls and meetings."""
        return self.pages("/v3/rest/recordings", **filters)

    def search(self, q: str, **filters: Any) -> Iterator[JsonObject]:
        """Passages of conversations, feedback and recordings, best first."""
        return self.pages("/v3/rest/search", q=q, **filters)

    def get(self, path: str, **query: Any) -> JsonObject:
        """Any `GET` of the REST interface, such as `get("/v3/rest/insights/counts", by="kind")`."""
        answer: JsonObject = self._rest.send("GET", path, query)
        return answer

    def pages(self, path: str, member: str | None = None, **query: Any) -> Iterator[JsonObject]:
        """Any list of the REST interface. `member`: where in the answer the page is."""
        while True:
            answer = self.get(path, **query)
            page = answer if member is None else answer[member]
            yield from page["data"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return
            # A list by pages goes on by cursor.
            query = {**query, "cursor": cursor, "page": None}

    def upload(
        self,
        file: str | os.PathLike[str],
        *,
        external_id: str | None = None,
        recording_id: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> str:
        """Uploads audio or video, and returns the id of the recording. See `earshot.upload.upload`."""
        return upload(self._rest, file, external_id=external_id, recording_id=recording_id, on_progress=on_progress)


class AsyncReader:
    """`Reader` for asyncio: lists are asynchronous iterators, the rest are coroutines. Requests run in threads."""

    def __init__(self, **options: Any) -> None:
        self._reader = Reader(**options)

    def conversations(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Sessions, newest first."""
        return _asynchronous(lambda: self._reader.conversations(**filters))

    async def conversation(self, id: str) -> JsonObject:
        """One session, with the first page of its events."""
        return await asyncio.to_thread(self._reader.conversation, id)

    def events(self, conversation_id: str, **filters: Any) -> AsyncIterator[JsonObject]:
        """The events of a session in their order."""
        return _asynchronous(lambda: self._reader.events(conversation_id, **filters))

    def signals(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Explicit feedback on answers, and what the analyser found."""
        return _asynchronous(lambda: self._reader.signals(**filters))

    def findings(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Deprecated: `signals`. It goes with the next version."""
        warnings.warn("AsyncReader.findings is called signals", DeprecationWarning, stacklevel=2)
        return self.signals(**filters)

    def feedback_sources(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Where feedback records come from, such as a survey."""
        return _asynchronous(lambda: self._reader.feedback_sources(**filters))

    def feedback_records(self, source_id: int | None = None, **filters: Any) -> AsyncIterator[JsonObject]:
        """Feedback records of one source, or of all sources one after the other."""
        return _asynchronous(lambda: self._reader.feedback_records(source_id, **filters))

    def feedback(self, source_id: int | None = None, **filters: Any) -> AsyncIterator[JsonObject]:
        """Deprecated: `feedback_records`. It goes with the next version."""
        warnings.warn("AsyncReader.feedback is called feedback_records", DeprecationWarning, stacklevel=2)
        return self.feedback_records(source_id, **filters)

    def people(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Customers, as known from all channels."""
        return _asynchronous(lambda: self._reader.people(**filters))

    def themes(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Subjects that customers speak or write about."""
        return _asynchronous(lambda: self._reader.themes(**filters))

    def recordings(self, **filters: Any) -> AsyncIterator[JsonObject]:
        """Recorded calls and meetings."""
        return _asynchronous(lambda: self._reader.recordings(**filters))

    def search(self, q: str, **filters: Any) -> AsyncIterator[JsonObject]:
        """Passages of conversations, feedback and recordings, best first."""
        return _asynchronous(lambda: self._reader.search(q, **filters))

    async def get(self, path: str, **query: Any) -> JsonObject:
        """Any `GET` of the REST interface, such as `get("/v3/rest/insights/counts", by="kind")`."""
        return await asyncio.to_thread(lambda: self._reader.get(path, **query))

    def pages(self, path: str, member: str | None = None, **query: Any) -> AsyncIterator[JsonObject]:
        """Any list of the REST interface. `member`: where in the answer the page is."""
        return _asynchronous(lambda: self._reader.pages(path, member, **query))

    async def upload(self, file: str | os.PathLike[str], **options: Any) -> str:
        """Uploads audio or video, and returns the id of the recording. The options are those of `Reader.upload`."""
        return await asyncio.to_thread(lambda: self._reader.upload(file, **options))


async def _asynchronous(start: Callable[[], Iterator[JsonObject]]) -> AsyncIterator[JsonObject]:
    iterator = start()
    while (item := await asyncio.to_thread(next, iterator, None)) is not None:
        yield item
