"""What the application may rely on: calls return at once and raise nothing; everything is sent once, in order."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest
from datetime import datetime, timezone
from typing import Any
from unittest import mock

from earshot import AsyncEarshot, Earshot

from .support import FakeService, Reply, assistant, environment, eventually, stored, user


class Sending(unittest.TestCase):
    def test_one_bad_message_loses_only_itself(self) -> None:
        errors: list[Exception] = []
        with FakeService() as service, Earshot(**service.options(on_error=errors.append)) as earshot:
            messages: Any = [user("one"), None, "text", user("two"), 7]
            earshot.session("s1").sync(messages)
            self.assertTrue(earshot.flush(10))
            self.assertEqual([event["content"] for event in service.events()], ["one", "two"])
            self.assertEqual(earshot.stats()["failed"], 3)
            self.assertEqual(len(errors), 3)

    def test_times(self) -> None:
        times: list[Any] = [
            "2026-01-02T03:04:05Z", "2026-01-02T05:04:05.123456789+02:00", "2026-01-02", 1767323045, 1767323045000, 1767323045000000,
            "yesterday", "", float("nan"), 1e300, {}, "9999-99-99T00:00:00Z",
        ]
        with FakeService() as service, Earshot(**service.options()) as earshot:
            earshot.session("s1").sync([user(str(at), id=str(at), occurred_at=time) for at, time in enumerate(times)])
            self.assertTrue(earshot.flush(10))
            found = [event["occurredAt"] for event in service.events()]
        at = "2026-01-02T03:04:05.000Z"
        self.assertEqual(found[:6], [at, "2026-01-02T03:04:05.123Z", "2026-01-02T00:00:00.000Z", at, at, at])
        now = datetime.now(timezone.utc)
        for text in found[6:]:
            self.assertLess(abs((datetime.fromisoformat(text.replace("Z", "+00:00")) - now).total_seconds()), 60)

    def test_a_wrong_secret_is_logged_with_its_code(self) -> None:
        refusal = (401, {}, {"code": "invalid_agent_secret", "message": "The secret is not valid."})
        with FakeService(lambda _: refusal) as service, Earshot(**service.options()) as earshot:
            with self.assertLogs("earshot", "WARNING") as logs:
                for number in range(3):
                    earshot.session(f"s{number}").sync([user("hi")])
                self.assertTrue(earshot.flush(10))
            self.assertEqual(len(logs.output), 1)
            self.assertIn("401 (invalid_agent_secret)", logs.output[0])

    def test_the_names_of_the_rest_interface(self) -> None:
        people: list[Any] = [
            {"external_id": "p1", "display_name": "Ada", "company_external_id": "c"},
            {"externalId": "p1", "displayName": "Ada", "companyExternalId": "c"},
            {"id": "p1", "name": "Ada", "company": "c"},
        ]
        with FakeService() as service, Earshot(**service.options()) as earshot:
            for number, person in enumerate(people):
                earshot.session(f"s{number}", person=person).sync([user("hi")])
            self.assertTrue(earshot.flush(10))
            for request in service.requests:
                expected = [{"externalId": "p1", "displayName": "Ada", "companyExternalId": "c"}]
                self.assertEqual(request["body"]["participants"], expected)

    def test_only_new_messages_are_sent(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            session = earshot.session("s1", person="p1", context={"product_area": "billing"}, agent_version="7")
            history = [user("Hello"), assistant("Hi")]
            session.sync(history)
            history += [user("Hello"), assistant("Hi again")]
            session.sync(history)
            session.sync(history)
            self.assertTrue(earshot.flush(10))
            self.assertEqual([event["content"] for event in service.events()], ["Hello", "Hi", "Hello", "Hi again"])
            self.assertEqual(len({event["externalEventId"] for event in service.events()}), 4)
            self.assertEqual(earshot.stats()["sent"], 4)
            body = service.requests[0]["body"]
            self.assertEqual(body["participants"], [{"externalId": "p1"}])
            self.assertEqual(body["context"], {"productArea": "billing"})
            self.assertEqual(body["agentVersion"], "7")
            self.assertEqual([event.get("participantExternalId") for event in body["events"]][:2], ["p1", None])

    def test_a_changed_text_under_the_same_id_is_sent_again(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            session = earshot.session("s1")
            session.sync([user("Hello", id="m1"), assistant("Hi", id="m2")])
            session.sync([user("Hello", id="m1"), assistant("Good day", id="m2")])
            earshot.flush(10)
            sent = [(event["externalEventId"], event["content"]) for event in service.events()]
            self.assertEqual(sent, [("m1", "Hello"), ("m2", "Hi"), ("m2", "Good day")])

    def test_the_list_may_change_right_after_the_call(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            history = [user("Hello")]
            earshot.session("s1").sync(history)
            history[0]["content"] = "changed"
            history.clear()
            earshot.flush(10)
            self.assertEqual([event["content"] for event in service.events()], ["Hello"])

    def test_feedback_and_the_end(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            session = earshot.session("s1", person={"id": "p1", "name": "Ada"})
            session.sync([user("Hello"), assistant("Hi", id="a1")])
            session.feedback("a1", "negative", "No.", labels=["rude"])
            session.end()
            earshot.flush(10)
            *_, feedback = service.events()
            self.assertEqual(feedback["feedback"]["targetEventExternalId"], "a1")
            self.assertEqual(feedback["feedback"]["labels"], ["rude"])
            self.assertEqual(service.requests[-1]["body"]["status"], "ended")
            self.assertEqual(len(service.events()), len({event["externalEventId"] for event in service.events()}))
            self.assertEqual(service.requests[0]["body"]["participants"], [{"externalId": "p1", "displayName": "Ada"}])

    def test_feedback_on_a_message_without_an_id(self) -> None:
        errors: list[Exception] = []
        with FakeService() as service, Earshot(**service.options(on_error=errors.append)) as earshot:
            session = earshot.session("s1")
            history = [user("a"), assistant("Yes."), user("b"), assistant("Yes.")]
            session.sync(history)
            session.feedback(history[3], "positive")
            session.feedback(assistant("never said"), "positive")
            session.feedback(assistant("Yes.", id="an id that sync did not see"), "negative")
            earshot.flush(10)
            events = service.events()
            targets = [event["feedback"]["targetEventExternalId"] for event in events[4:]]
            self.assertEqual(targets, [events[3]["externalEventId"]] * 2)
            self.assertEqual(len(errors), 1)

    def test_the_end_alone_repeats_the_last_event_or_sends_a_marker(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            session = earshot.session("s1")
            session.sync([user("Hello", id="m1")])
            earshot.flush(10)
            session.end("abandoned")
            earshot.session("s2").end()
            earshot.flush(10)
            ends = {request["body"]["externalSessionId"]: request["body"] for request in service.requests[1:]}
            self.assertEqual(ends["s1"]["status"], "abandoned")
            self.assertEqual(ends["s1"]["events"], service.requests[0]["body"]["events"])
            self.assertEqual(ends["s2"]["events"][0]["type"], "session_ended")

    def test_one_request_of_a_session_at_a_time_and_several_sessions_at_once(self) -> None:
        lock, now, most, together = threading.Lock(), {"a": 0, "b": 0}, {"a": 0, "b": 0}, threading.Barrier(2, timeout=10)

        def slow(request: dict[str, Any]) -> Reply:
            session = request["body"]["externalSessionId"]
            with lock:
                now[session] += 1
                most[session] = max(most[session], now[session])
            if request["body"]["events"][0]["content"] == "0":
                together.wait()
            with lock:
                now[session] -= 1
            return stored(request)

        with FakeService(slow) as service, Earshot(**service.options()) as earshot:
            for number in range(5):
                for session in ("a", "b"):
                    earshot.session(session).sync([user(str(number), id=str(number))])
            self.assertTrue(earshot.flush(10))
            self.assertEqual(most, {"a": 1, "b": 1})

    def test_large_histories_are_sent_in_several_requests(self) -> None:
        with FakeService() as service, Earshot(**service.options()) as earshot:
            earshot.session("s1").sync([user(f"{number} " + "ä" * 3000, id=str(number)) for number in range(1200)])
            earshot.flush(20)
            self.assertEqual([event["externalEventId"] for event in service.events()], [str(n) for n in range(1200)])
            for request in service.requests:
                self.assertLessEqual(len(request["body"]["events"]), 500)
                self.assertLess(len(request["raw"]), 2 * 1024 * 1024)


class Failing(unittest.TestCase):
    def test_the_same_body_is_sent_until_it_is_taken(self) -> None:
        replies: list[Reply] = [(503, {"retry-after": "0"}, {}), None, (429, {"retry-after": "1"}, {}), (408, {}, {}), (500, {}, {})]

        def reply(request: dict[str, Any]) -> Reply:
            return replies.pop(0) if replies else stored(request)

        short = mock.patch("earshot._retry.FIRST_PAUSE", 0.02)
        with short, FakeService(reply) as service, Earshot(**service.options()) as earshot:
            earshot.session("s1").sync([user("Hello")])
            eventually(lambda: len(service.requests) >= 1)
            earshot.session("s1").sync([user("Hello"), assistant("Hi")])
            self.assertTrue(earshot.flush(30))
            bodies = [request["raw"] for request in service.requests]
            self.assertEqual(len(set(bodies[:6])), 1)
            self.assertEqual([event["content"] for event in service.events()[5:]], ["Hello", "Hi"])
            self.assertGreaterEqual(service.requests[3]["at"] - service.requests[2]["at"], 1.0)
            # A cut connection that was kept is opened anew at once, which is no retry.
            self.assertIn(earshot.stats()["retried"], (4, 5))

    def test_a_refused_event_goes_and_the_others_of_its_request_are_sent(self) -> None:
        def reply(request: dict[str, Any]) -> Reply:
            texts = [event["content"] for event in request["body"]["events"]]
            if "bad" in texts:
                return (400, {}, {"code": "validation_failed", "message": "no", "eventIndex": texts.index("bad")})
            return stored(request)

        errors: list[Exception] = []
        with FakeService(reply) as service, Earshot(**service.options(on_error=errors.append)) as earshot:
            earshot.session("s1").sync([user("one"), user("bad"), user("two")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual([event["content"] for event in service.requests[-1]["body"]["events"]], ["one", "two"])
            self.assertEqual((earshot.stats()["sent"], earshot.stats()["failed"], len(errors)), (2, 1, 1))

    def test_any_other_refusal_drops_the_request_and_goes_on(self) -> None:
        def reply(request: dict[str, Any]) -> Reply:
            return (404, {}, {"code": "not_found"}) if len(service.requests) == 1 else stored(request)

        errors: list[Exception] = []
        with FakeService(reply) as service, Earshot(**service.options(on_error=errors.append)) as earshot:
            earshot.session("s1").sync([user("one")])
            earshot.flush(10)
            earshot.session("s1").sync([user("one"), user("two")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual((earshot.stats()["sent"], earshot.stats()["failed"], len(errors)), (1, 1, 1))

    def test_a_used_up_quota_drops_the_request_and_a_full_disk_does_not(self) -> None:
        def reply(request: dict[str, Any]) -> Reply:
            texts = [event["content"] for event in request["body"]["events"]]
            if "too much" in texts:
                return (507, {}, {"code": "quota_exceeded"})
            return (507, {"Retry-After": "0"}, {"code": "storage_full"}) if len(service.requests) < 3 else stored(request)

        errors: list[Exception] = []
        with FakeService(reply) as service, Earshot(**service.options(on_error=errors.append)) as earshot:
            earshot.session("s1").sync([user("too much")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual((earshot.stats()["failed"], earshot.stats()["retried"], len(service.requests)), (1, 0, 1))
            earshot.session("s2").sync([user("one")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual((earshot.stats()["sent"], earshot.stats()["failed"], len(errors)), (1, 1, 1))

    def test_a_service_that_drips_is_given_up(self) -> None:
        gate = threading.Event()

        def reply(request: dict[str, Any]) -> Reply:
            if len(service.requests) == 1:
                gate.wait(20)
            return stored(request)

        with FakeService(reply) as service, Earshot(**service.options(timeout=0.2)) as earshot:
            earshot.session("s1").sync([user("one")])
            self.assertTrue(earshot.flush(10))
            gate.set()
            self.assertGreaterEqual(len(service.requests), 2)

    def test_the_queue_is_bounded_and_the_oldest_go(self) -> None:
        taken, gate = threading.Event(), threading.Event()

        def reply(request: dict[str, Any]) -> Reply:
            taken.set()
            gate.wait(20)
            return stored(request)

        errors: list[Exception] = []
        options = {"max_queue_events": 5, "on_error": errors.append}
        with FakeService(reply) as service, Earshot(**service.options(**options)) as earshot:
            earshot.session("s1").sync([user("first", id="first")])
            self.assertTrue(taken.wait(10))
            earshot.session("s1").sync([user(str(number), id=str(number)) for number in range(10)])
            eventually(lambda: earshot.stats()["dropped"] == 6)
            self.assertEqual(earshot.stats()["queued"], 5)
            gate.set()
            self.assertTrue(earshot.flush(10))
            self.assertEqual([event["externalEventId"] for event in service.events()], ["first", "6", "7", "8", "9"])
            self.assertEqual(len(errors), 6)

    def test_nothing_reaches_the_application(self) -> None:
        def broken(_: Any) -> Any:
            raise RuntimeError("broken")

        class Strange:
            @property
            def role(self) -> str:
                raise RuntimeError("strange")

        with FakeService() as service, Earshot(**service.options(on_error=broken)) as earshot:
            session = earshot.session("s1", context={"properties": {"x": object()}})
            session.sync([user("lost")])
            good = earshot.session("s1")
            for value in (None, 7, [Strange()], [None], [{"role": "nobody", "content": 1}], ({"role": "user"},)):
                good.sync(value)  # type: ignore[arg-type]
            good.feedback(object(), object())  # type: ignore[arg-type]
            good.sync([user("\ud800 \0 kept")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual([event["content"] for event in service.events()], ["\ufffd  kept"])
        earshot.session("s1").sync([user("late")])
        self.assertGreater(earshot.stats()["dropped"], 0)
        silent = Earshot(url="nonsense", agent_key="a", secret="s", on_error=broken)
        silent.session("s1").sync([user("x")])
        self.assertTrue(silent.flush(1))

    def test_redaction_comes_first_and_its_failure_sends_nothing(self) -> None:
        def redact(text: str) -> str:
            if "boom" in text:
                raise ValueError("boom")
            return text.replace("4711", "****")

        with FakeService() as service, Earshot(**service.options(redact=redact, on_error=lambda _: None)) as earshot:
            earshot.session("s1").sync([user("my pin is 4711"), user("boom")])
            earshot.session("s1").feedback("a1", comment="4711")
            earshot.flush(10)
            everything = b"".join(request["raw"] for request in service.requests)
            self.assertNotIn(b"4711", everything)
            self.assertNotIn(b"boom", everything)
            self.assertEqual(earshot.stats()["failed"], 1)


APP = """
import os, sys
from earshot import Earshot
earshot = Earshot(url=sys.argv[1], agent_key="demo", secret="s", spool=sys.argv[2] if len(sys.argv) > 2 else None)
"""


class Processes(unittest.TestCase):
    def run_app(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", APP + code, *arguments]
        return subprocess.run(command, env=environment(), timeout=30, capture_output=True, text=True)

    def test_the_end_of_the_process_sends_what_is_queued(self) -> None:
        with FakeService() as service:
            done = self.run_app('earshot.session("s1").sync([{"role": "user", "content": "last words"}])', service.url)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual([event["content"] for event in service.events()], ["last words"])

    def test_a_call_while_the_process_ends_is_sent_too(self) -> None:
        code = """
import atexit
earshot.session("s0").sync([{"role": "user", "content": "before"}]) if "warm" in sys.argv else None
atexit.register(lambda: earshot.session("s1").sync([{"role": "user", "content": "very last"}]))
"""
        with FakeService() as service:
            self.assertEqual(self.run_app(code, service.url).stderr, "")
            self.assertEqual([event["content"] for event in service.events()], ["very last"])

    @unittest.skipUnless(hasattr(os, "fork"), "fork")
    def test_a_forked_child_sends_its_own_and_not_what_its_parent_queued(self) -> None:
        code = """
sync = lambda session, text: earshot.session(session).sync([{"role": "user", "content": text}])
sync("parent", "before")
child = os.fork()
if child == 0:
    sync("child", "after")
    assert earshot.flush(10)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
sync("parent", "after")
"""
        with FakeService() as service:
            self.assertEqual(self.run_app(code, service.url).stderr, "")
            said = sorted((r["body"]["externalSessionId"], e["content"]) for r in service.requests for e in r["body"]["events"])
            self.assertEqual(said, [("child", "after"), ("parent", "after"), ("parent", "before")])

    def test_children_of_multiprocessing_flush_at_their_end(self) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            self.skipTest("fork")
        code = """
import multiprocessing
def work(n):
    earshot.session(f"child {n}").sync([{"role": "user", "content": "from a child"}])
context = multiprocessing.get_context("fork")
workers = [context.Process(target=work, args=(n,)) for n in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
"""
        with FakeService() as service:
            self.assertEqual(self.run_app(code, service.url).stderr, "")
            self.assertEqual(len(service.events()), 2)


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_flush_does_not_block_the_loop(self) -> None:
        gate = threading.Event()

        def reply(request: dict[str, Any]) -> Reply:
            gate.wait(20)
            return stored(request)

        with FakeService(reply) as service:
            async with AsyncEarshot(**service.options()) as earshot:
                earshot.session("s1").sync([user("Hello")])
                flushing = asyncio.ensure_future(earshot.flush(10))
                await asyncio.sleep(0)
                self.assertFalse(flushing.done())
                gate.set()
                self.assertTrue(await flushing)


if __name__ == "__main__":
    unittest.main()
