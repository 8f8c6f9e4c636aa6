"""What waits survives the crash of a process, with the same bodies."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from earshot import Earshot

from .support import FakeService, Reply, environment, eventually, stored, user
from .test_client import APP


class SpoolFile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "deep" / "spool")

    def test_a_crash_loses_nothing_and_the_bodies_are_the_same(self) -> None:
        down: list[bool] = [True]

        def reply(request: dict[str, object]) -> Reply:
            return None if down[0] else stored(request)

        with FakeService(reply) as service:
            code = APP + """
session = earshot.session("s1")
session.sync([{"role": "user", "content": "one"}])
session.sync([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
earshot.flush(0.3)
print("ready", flush=True)
import time
time.sleep(60)
"""
            app = subprocess.Popen(
                [sys.executable, "-c", code, service.url, self.path], env=environment(), stdout=subprocess.PIPE, text=True
            )
            assert app.stdout is not None
            self.assertEqual(app.stdout.readline(), "ready\n")
            app.kill()
            app.wait()
            app.stdout.close()
            first = service.requests[0]["raw"]
            service.requests.clear()
            down[0] = False
            with Earshot(**service.options(spool=self.path)) as earshot:
                earshot.session("s1").sync([user("one"), {"role": "assistant", "content": "two"}, user("three")])
                self.assertTrue(earshot.flush(10))
            self.assertEqual(service.requests[0]["raw"], first)
            known = list(dict.fromkeys(event["content"] for event in service.events()))
            self.assertEqual(known, ["one", "two", "three"])
            self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
            service.requests.clear()
            with Earshot(**service.options(spool=self.path)) as again:
                again.session("other").sync([user("four")])
                self.assertTrue(again.flush(10))
            self.assertEqual([event["content"] for event in service.events()], ["four"])

    def test_two_clients_share_a_path(self) -> None:
        with FakeService() as service:
            with Earshot(**service.options(spool=self.path)) as one, Earshot(**service.options(spool=self.path)) as two:
                for name, client in (("a", one), ("b", two)):
                    client.session(name).sync([user(name)])
                    self.assertTrue(client.flush(10))
                # The second one has `spool.1`, or `spool.2` where the first took over `spool.1` before it was locked.
                self.assertEqual(len(os.listdir(os.path.dirname(self.path))), 2)
            self.assertEqual(sorted(event["content"] for event in service.events()), ["a", "b"])

    def test_a_line_that_the_crash_cut_is_left_out(self) -> None:
        os.makedirs(os.path.dirname(self.path))
        Path(self.path).write_bytes(
            b'{"batch":1,"session":"s1","events":1,"body":"{\\"events\\":[{\\"content\\":\\"kept\\"}]}"}\n{"batch":2,"ses'
        )
        with FakeService() as service, Earshot(**service.options(spool=self.path)) as earshot:
            earshot.session("s2").sync([user("new")])
            self.assertTrue(earshot.flush(10))
            self.assertEqual(sorted(event["content"] for event in service.events()), ["kept", "new"])

    def test_the_file_is_emptied(self) -> None:
        with FakeService() as service, Earshot(**service.options(spool=self.path)) as earshot:
            for number in range(40):
                earshot.session("s1").sync([user(str(number) + "x" * 4000, id=str(number))])
                earshot.flush(10)
            eventually(lambda: os.path.getsize(self.path) < 80_000)

    def test_a_path_that_cannot_be_written_stops_nothing(self) -> None:
        errors: list[Exception] = []
        with FakeService() as service:
            options = service.options(spool="/dev/null/spool", on_error=errors.append)
            with Earshot(**options) as earshot:
                earshot.session("s1").sync([user("sent")])
                self.assertTrue(earshot.flush(10))
            self.assertEqual(len(service.events()), 1)
            self.assertEqual(len(errors), 1)
