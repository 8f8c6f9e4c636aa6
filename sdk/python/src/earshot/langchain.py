"""LangChain and LangGraph: a callback handler that sends each turn.

    handler = EarshotCallbackHandler(Earshot())
    model.invoke(messages, {"callbacks": [handler], "metadata": {"conversation_id": "chat-1", "user_id": "customer-7"}})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from ._hook import IGNORE_TAGS, PERSON_KEYS, SESSION_KEYS, Client, history, member, named
from ._messages import text_of

if TYPE_CHECKING:
    Base = object
else:
    try:
        from langchain_core.callbacks import BaseCallbackHandler as Base
    except ImportError:
        Base = object

#: Calls that are remembered while they run.
MAX_RUNS = 10_000


class EarshotCallbackHandler(Base):
    """The conversation is `conversation_id`, `session_id` or `thread_id` of the metadata; calls without one are not sent.

    Agents call the model several times in a turn. Each call has the history so far, so nothing is sent twice.
    """

    def __init__(self, earshot: Client) -> None:
        super().__init__()
        self._earshot = earshot
        self._runs: dict[UUID, tuple[str, str | None, list[Any]]] = {}

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[Any]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Remembers the messages of the call until it ends."""
        session = named(metadata, SESSION_KEYS)
        if session is None or not messages or any(tag in IGNORE_TAGS for tag in tags or []):
            return
        if len(self._runs) >= MAX_RUNS:
            self._runs.pop(next(iter(self._runs)), None)
        self._runs[run_id] = (session, named(metadata, PERSON_KEYS), list(messages[0]))

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """Hands over the history and the answer."""
        run = self._runs.pop(run_id, None)
        if run is None:
            return
        session, person, messages = run
        try:
            generation = response.generations[0][0]
            message = member(generation, "message")
            answer = text_of(member(message, "content")) if message is not None else member(generation, "text")
        except (AttributeError, IndexError, TypeError):
            return
        self._earshot.session(session, person=person).sync(history(messages, answer or ""))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Forgets the call: without an answer nothing is sent."""
        self._runs.pop(run_id, None)
