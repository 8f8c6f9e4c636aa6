"""A chat application for the chaos test. Arguments: # The test is not to wait for long pauses.
_retry.FIRST_PAUSE, _retry.LONGEST_PAUSE = 0.05, 0.5
prefix, sessions, turns. Prints its counters as JSON.

Each turn syncs the whole history, as a stateless web server does. Half-way the process forks, and the child goes on with every
second session. So both processes send overlapping histories of these sessions.
"""

import json
import os
import sys
import time

from earshot import Earshot, _retry

prefix, sessions, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
errors: list[str] = []
earshot = Earshot(on_error=lambda error: errors.append(str(error)))


def history_of(number: int, turn: int) -> list[dict[str, str]]:
    pairs = [
        # The question repeats, so its id comes from how often it has occurred.
        ({"role": "user", "content": "And now?"}, {"role": "assistant", "content": f"{number}.{at}", "id": f"a{at}"})
        for at in range(turn + 1)
    ]
    return [message for pair in pairs for message in pair]


def talk(numbers: range, some: range) -> None:
    for turn in some:
        for number in numbers:
            session = earshot.session(f"{prefix}-{number}", person=f"customer-{number}")
            session.sync(history_of(number, turn))
            if turn == 1:
                session.feedback("a1", "negative", "Not what I asked.")
        time.sleep(0.05)


talk(range(sessions), range(turns // 2))
child = os.fork()
if child == 0:
    talk(range(0, sessions, 2), range(turns // 2, turns))
    os._exit(0 if earshot.flush(60) and not errors else 1)
talk(range(1, sessions, 2), range(turns // 2, turns))
status = os.waitpid(child, 0)[1]
for number in range(sessions):
    earshot.session(f"{prefix}-{number}", person=f"customer-{number}").sync(history_of(number, turns - 1))
    earshot.session(f"{prefix}-{number}", person=f"customer-{number}").end()
flushed = earshot.flush(180)
print(json.dumps({"child": status, "flushed": flushed, "errors": errors, "stats": earshot.stats()}))
