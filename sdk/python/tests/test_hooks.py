"""The hooks of the frameworks: recorded callbacks of the real ones (see recordings/README.md), replayed."""

from __future__ import annotations

import asyncio
import json
import unittest
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from earshot import Earshot
from earshot.langchain import EarshotCallbackHandler
from earshot.litellm import EarshotLogger
from earshot.openai_agents import EarshotTraceProcessor

from .support import FakeService, user

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def thing(value: Any) -> Any:
    """JSON as objects with attributes, as the frameworks have them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: thing(member) for name, member in value.items()})
    return [thing(one) for one in value] if isinstance(value, list) else value


def said(service: FakeService, session: str) -> list[tuple[str, str]]:
    """What was sent of a session. No event comes twice."""
    events = [e for r in service.requests if r["body"]["externalSessionId"] == session for e in r["body"]["events"]]
    assert len({event["externalEventId"] for event in events}) == len(events)
    return [(event["type"].removesuffix("_message"), event["content"]) for event in events]


class Hooks(unittest.TestCase):
    def test_langchain(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            handler = EarshotCallbackHandler(earshot)
            for line in recorded("langchain"):
                run = uuid.UUID(line["run_id"])
                if line["call"] == "on_chat_model_start":
                    more = {"tags": line["tags"], "metadata": line["metadata"]}
                    handler.on_chat_model_start({}, thing(line["messages"]), run_id=run, parent_run_id=None, **more)
                elif line["call"] == "on_llm_end":
                    handler.on_llm_end(SimpleNamespace(generations=thing(line["generations"])), run_id=run)
                else:
                    handler.on_llm_error(RuntimeError(), run_id=run)
            self.assertTrue(earshot.flush(10))
            self.assertEqual(
                said(service, "chat-1"),
                [
                    ("user", "Where is my invoice?"),
                    ("assistant", "Under Billing."),
                    ("user", "How much is it?"),
                    ("assistant", "It is 12 euros."),
                    ("user", "Thank you."),
                    ("assistant", "You are\n\nwelcome."),
                ],
            )
            self.assertEqual({r["body"]["externalSessionId"] for r in service.requests}, {"chat-1"})
            self.assertEqual(service.requests[0]["body"]["participants"], [{"externalId": "customer-7"}])
            self.assertEqual(handler._runs, {})

    def test_openai_agents(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            processor = EarshotTraceProcessor(earshot)
            for line in recorded("openai_agents"):
                # The SDK passes plain dicts as input, and objects as response.
                data = line.get("span_data")
                if data is not None:
                    response = thing(data.get("response"))
                    members = {"input": data.get("input"), "output": data.get("output"), "response": response}
                    line["span_data"] = SimpleNamespace(type=data["type"], **members)
                getattr(processor, line["call"])(SimpleNamespace(**line))
            self.assertTrue(earshot.flush(10))
            self.assertEqual(
                said(service, "responses"),
                [
                    ("user", "Where is my invoice?"),
                    ("assistant", "Under Billing."),
                    ("user", "How much is it?"),
                    ("assistant", "It is 12 euros."),
                    ("user", "Sure?"),
                    ("assistant", "Yes."),
                    ("user", "Sure?"),
                    ("assistant", "Yes."),
                ],
            )
            twice = [("user", "Hi"), ("assistant", "Hello.")] * 2
            self.assertEqual(said(service, "completions"), twice)
            self.assertEqual(said(service, "kept"), [("user", "Again"), ("assistant", "One.")] * 2)
            self.assertEqual(processor._traces, {})

    def test_litellm(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            logger = EarshotLogger(earshot)
            for line in recorded("litellm"):
                call = getattr(logger, line["call"])
                found = call(line["kwargs"], thing(line["response"]), None, None)
                if asyncio.iscoroutine(found):
                    asyncio.run(found)
                    # LiteLLM may call both methods for one answer.
                    logger.log_success_event(line["kwargs"], thing(line["response"]), None, None)
            self.assertTrue(earshot.flush(10))
            expected = [
                ("user", "Where is my invoice?"),
                ("assistant", "Under Billing."),
                ("user", "How much is it?"),
                ("assistant", "It is 12 euros."),
                ("user", "Thank you."),
                ("assistant", "You are welcome."),
                ("user", "Bye."),
                ("assistant", "Good bye."),
            ]
            self.assertEqual(said(service, "chat-1"), expected)
            # The Responses interface: with the whole history, and with the one that OpenAI keeps.
            whole = [("user", "Hi"), ("assistant", "Hello."), ("user", "How are you?"), ("assistant", "Fine.")]
            self.assertEqual(said(service, "responses"), whole)
            self.assertEqual(said(service, "kept"), [("user", "And now?"), ("assistant", "Kept.")])
            self.assertEqual({r["body"]["externalSessionId"] for r in service.requests}, {"chat-1", "responses", "kept"})
            self.assertEqual(service.requests[0]["body"]["participants"], [{"externalId": "customer-7"}])

    def test_litellm_by_other_names(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            logger = EarshotLogger(earshot)
            response = thing({"choices": [{"message": {"role": "assistant", "content": "Under Billing."}}]})
            names = {"metadata": {}, "litellm_session_id": "chat-2"}
            logger.log_success_event({"messages": [user("Where is it?")], "user": "u", "litellm_params": names}, response, None, None)
            logger.log_success_event({"messages": [user("Hi")], "litellm_params": None}, response, None, None)
            logger.log_success_event({"messages": [1], "litellm_params": names}, object(), None, None)
            self.assertTrue(earshot.flush(10))
            self.assertEqual(said(service, "chat-2"), [("user", "Where is it?"), ("assistant", "Under Billing.")])
            self.assertEqual({r["body"]["externalSessionId"] for r in service.requests}, {"chat-2"})
            self.assertEqual(service.requests[0]["body"]["participants"], [{"externalId": "u"}])

    def test_examples_are_python(self) -> None:
        for path in (RECORDINGS.parent / "examples").glob("*.py"):
            compile(path.read_text("utf-8"), str(path), "exec")
