"""OpenAI Agents SDK: a trace processor that sends each turn.

    add_trace_processor(EarshotTraceProcessor(Earshot()))
    Runner.run_sync(agent, history, run_config=RunConfig(group_id="chat-1", trace_metadata={"user_id": "customer-7"}))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._hook import PERSON_KEYS, Client, history, member, messages_of, named, sync_response
from ._messages import text_of

if TYPE_CHECKING:
    Base = object
else:
    try:
        from agents.tracing import TracingProcessor as Base
    except ImportError:
        Base = object

#: Traces that are remembered while they run.
MAX_TRACES = 10_000


@dataclass
class Trace:
    """A trace that runs, and its open spans."""

    session: str
    person: str | None
    #: Parent of each open span, and whether the span is a call of a tool.
    spans: dict[str, tuple[str | None, bool]] = field(default_factory=dict)


class EarshotTraceProcessor(Base):
    """The conversation is the `group_id` of the trace; traces without one are not sent.

    Agents that run as tools of another agent are no part of the conversation. Tracing must be on, with sensitive data
    (`trace_include_sensitive_data`), and the model must be one of OpenAI's classes: others make no spans with texts.
    """

    def __init__(self, earshot: Client) -> None:
        self._earshot = earshot
        self._traces: dict[str, Trace] = {}

    def on_trace_start(self, trace: Any) -> None:
        """Remembers the trace, if it has a `group_id`."""
        group = member(trace, "group_id")
        if not group:
            return
        if len(self._traces) >= MAX_TRACES:
            self._traces.pop(next(iter(self._traces)), None)
        self._traces[trace.trace_id] = Trace(str(group), named(member(trace, "metadata"), PERSON_KEYS))

    def on_trace_end(self, trace: Any) -> None:
        """Forgets the trace."""
        self._traces.pop(trace.trace_id, None)

    def on_span_start(self, span: Any) -> None:
        """Remembers the parent of the span until it ends."""
        trace = self._traces.get(span.trace_id)
        if trace is not None:
            trace.spans[span.span_id] = (span.parent_id, span.span_data.type == "function")

    def on_span_end(self, span: Any) -> None:
        """Hands over the call of a model and its answer."""
        trace = self._traces.get(span.trace_id)
        if trace is None:
            return
        try:
            if span.span_data.type in ("response", "generation") and not _is_within_tool(trace, span.parent_id):
                self._send(trace, span.span_data)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            self._earshot._report(error)
        trace.spans.pop(span.span_id, None)

    def force_flush(self) -> None:
        """Waits up to 30 seconds until everything is sent."""
        self._earshot._flush(30.0)

    def shutdown(self) -> None:
        """Waits as long as `exit_timeout` of the client until everything is sent."""
        self._earshot._flush(self._earshot._exit_timeout)

    def _send(self, trace: Trace, data: Any) -> None:
        messages = messages_of(data.input)
        session = self._earshot.session(trace.session, person=trace.person)
        if data.type == "generation":
            answers = [answer for answer in data.output or [] if member(answer, "role") == "assistant"]
            if answers:
                session.sync(history(messages, text_of(member(answers[0], "content"))))
            return
        if data.response is not None:
            sync_response(session, messages, data.response)


def _is_within_tool(trace: Trace, span: str | None) -> bool:
    while span is not None and span in trace.spans:
        parent, is_tool = trace.spans[span]
        if is_tool:
            return True
        span = parent
    return False
