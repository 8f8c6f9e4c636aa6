"""What every SDK does alike: the files of sdk/vectors."""

from __future__ import annotations

import json
import unittest
from typing import Any

from earshot import WebhookVerificationError, verify_webhook
from earshot._ids import derived_ids
from earshot._messages import event_of
from earshot._retry import backoff, is_transient, retry_after

from .support import VECTORS


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


class Vectors(unittest.TestCase):
    def test_ids_of_messages_and_feedback(self) -> None:
        known = vectors("event-ids")
        for case in known["cases"]:
            events = [event for event in map(event_of, case["messages"]) if event is not None]
            self.assertEqual(derived_ids(events), case["ids"])
        for case in known["feedback"]:
            event = {"type": "feedback", "feedback": {"targetEventExternalId": case["target"]}}
            self.assertEqual(derived_ids([event]), [case["id"]])

    def test_what_messages_say(self) -> None:
        for case in vectors("messages")["cases"]:
            event = event_of(case["message"])
            says = event and {"id": event.get("externalEventId"), "type": event["type"], "text": event["content"]}
            self.assertEqual(says, case["says"], case["message"])

    def test_which_answers_are_tried_again_and_when(self) -> None:
        known = vectors("retry")
        # None stands for no answer, which is always tried again.
        self.assertEqual([one for one in known["statuses"]["retried"] if one is not None and not is_transient(one)], [])
        self.assertEqual([one for one in known["statuses"]["final"] if is_transient(one)], [])
        for one in known["codes"]["retried"]:
            self.assertTrue(is_transient(one["status"], one["code"]))
        for one in known["codes"]["final"]:
            self.assertFalse(is_transient(one["status"], one["code"]))
        for case in known["cases"]:
            asked = retry_after(case["retryAfter"], known["now"] / 1000)
            seconds = backoff(case["failures"], case["random"]) if asked is None else asked
            self.assertAlmostEqual(seconds * 1000, case["waitMs"], msg=str(case))

    def test_signed_webhooks(self) -> None:
        known = vectors("webhooks")
        for case in known["cases"]:
            with self.subTest(case["name"]):
                arguments = (case["body"].encode(), case["headers"], known["secret"])
                if case["isValid"]:
                    self.assertEqual(verify_webhook(*arguments, now=known["now"]), json.loads(case["body"]))
                else:
                    with self.assertRaises(WebhookVerificationError):
                        verify_webhook(*arguments, now=known["now"])
