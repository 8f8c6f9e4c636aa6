"""How long `sync` delays an application, in milliseconds: with a service that answers nothing and a history of 200 messages."""

import json
import socket
import time

from earshot import Earshot

silent = socket.create_server(("127.0.0.1", 0))
earshot = Earshot(url=f"http://127.0.0.1:{silent.getsockname()[1]}", agent_key="demo", secret="s", exit_timeout=0.0)
history = [{"role": "assistant" if n % 2 else "user", "content": f"Message {n}. " + "words " * 40} for n in range(200)]
times = []
for number in range(1000):
    messages = [*history, {"role": "user", "content": f"question {number}"}]
    session = earshot.session(f"chat-{number % 20}")
    begun = time.perf_counter()
    session.sync(messages)
    session.feedback("a1", "positive")
    times.append((time.perf_counter() - begun) * 1000 / 2)
    time.sleep(0.002)
times.sort()
print(json.dumps({"median": times[500], "p99": times[990], "max": times[-1]}))
