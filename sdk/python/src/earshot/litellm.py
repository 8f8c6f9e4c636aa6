"""LiteLLM: a logger that sends each turn, in an application or in the proxy.

    litellm.callbacks = [EarshotLogger(Earshot())]
    litellm.completion(model, messages, metadata={"conversation_id": "chat-1", "user_id": "customer-7"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from ._hook import PERSON_KEYS, SESSION_KEYS, Client, history, member, messages_of, named, sync_response
from ._messages import text_of

if TYPE_CHECKING:
    Base = object
else:
    try:
        from litellm.integrations.custom_logger import CustomLogger as Base
    except ImportError:
        Base = object


class EarshotLogger(Base):
    """The conversation is `conversation_id` or `session_id` of the metadata, or `litellm_session_id`; calls without one are not sent.

    Chat completions and the Responses interface are understood. The person is `user_id` of the metadata, or else the parameter `user`.
    """

    def __init__(self, earshot: Client) -> None:
        super().__init__()
        self._earshot = earshot

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Hands over the messages of the call and its answer."""
        try:
            self._send(kwargs, response_obj)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            self._earshot._report(error)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """The same for calls of asyncio. It never waits."""
        # LiteLLM may call both methods for one answer, which sends nothing twice.
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    def _send(self, kwargs: Mapping[str, Any], response: Any) -> None:
        parameters = kwargs.get("litellm_params") or {}
        sources = (parameters.get("metadata"), parameters.get("litellm_metadata"), kwargs.get("metadata"))
        session = next(filter(None, (named(source, SESSION_KEYS) for source in sources)), None)
        session = session or parameters.get("litellm_session_id") or kwargs.get("litellm_session_id")
        messages = kwargs.get("messages") or kwargs.get("input")
        choices, items = member(response, "choices"), member(response, "output")
        if not session or not isinstance(messages, (list, str)) or not (choices or items):
            return
        person = next(filter(None, (named(source, PERSON_KEYS) for source in sources)), None) or kwargs.get("user")
        handle = self._earshot.session(str(session), person=person)
        if items:
            # `litellm.responses`.
            sync_response(handle, messages_of(messages), response)
            return
        answer = member(choices[0], "message")
        handle.sync(history(messages_of(messages), text_of(member(answer, "content"))))
