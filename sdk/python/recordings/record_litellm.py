"""Records what LiteLLM calls on a logger. Needs litellm. Answers come from `mock_response`, or from a local server in place of OpenAI."""

import asyncio
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.update({"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "none"})
import litellm
from litellm.integrations.custom_logger import CustomLogger

lines: list[dict[str, Any]] = []
answers: list[str] = []


class OpenAI(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        count = len(lines)
        part = {"type": "output_text", "text": answers.pop(0), "annotations": []}
        item = {"type": "message", "id": f"msg_{count}", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        reply = {
            "id": f"resp_{count}", "object": "response", "created_at": 1, "model": "gpt-4o-mini", "output": [item], "status": "completed",
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "usage": usage,
            "previous_response_id": body.get("previous_response_id"),
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    return json.loads(json.dumps(value, default=str))


def record(call: str, kwargs: Any, response: Any) -> None:
    """Only what a hook may read. The rest names the machine."""
    parameters = kwargs.get("litellm_params") or {}
    names = ("metadata", "litellm_metadata", "litellm_session_id")
    members = {name: plain(kwargs.get(name)) for name in ("messages", "input", "instructions", "user", "call_type", "model", "stream")}
    members["litellm_params"] = {name: kept(plain(parameters.get(name))) for name in names}
    for name in ("complete_streaming_response", "async_complete_streaming_response"):
        if kwargs.get(name) is not None:
            members[name] = plain(kwargs[name])
    lines.append({"call": call, "kwargs": members, "response": plain(response), "class": type(response).__name__})


def kept(metadata: Any) -> Any:
    if not isinstance(metadata, dict):
        return metadata
    return {name: metadata[name] for name in ("conversation_id", "user_id", "session_id") if name in metadata}


class Recorder(CustomLogger):
    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        record("log_success_event", kwargs, response_obj)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        record("async_log_success_event", kwargs, response_obj)


server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAI)
threading.Thread(target=server.serve_forever, daemon=True).start()
litellm.callbacks = [Recorder()]
address = f"http://127.0.0.1:{server.server_port}/v1"


def history(*texts: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": "system", "content": "Be brief."}, *({"role": roles[at % 2], "content": text} for at, text in enumerate(texts))]


def names(session: str) -> dict[str, Any]:
    return {"metadata": {"conversation_id": session, "user_id": "customer-7"}}


litellm.completion(model="gpt-4o-mini", messages=history("Where is my invoice?"), mock_response="Under Billing.", **names("chat-1"))
said = history("Where is my invoice?", "Under Billing.", "How much is it?")
for chunk in litellm.completion(model="gpt-4o-mini", messages=said, mock_response="It is 12 euros.", stream=True, **names("chat-1")):
    pass


async def asynchronous() -> None:
    said = history("Where is my invoice?", "Under Billing.", "How much is it?", "It is 12 euros.", "Thank you.")
    await litellm.acompletion(model="gpt-4o-mini", messages=said, mock_response="You are welcome.", **names("chat-1"))
    said = [*said, {"role": "assistant", "content": "You are welcome."}, {"role": "user", "content": [{"type": "text", "text": "Bye."}]}]
    stream = await litellm.acompletion(model="gpt-4o-mini", messages=said, mock_response="Good bye.", stream=True, **names("chat-1"))
    async for chunk in stream:
        pass
    await asyncio.sleep(2)


asyncio.run(asynchronous())
answers += ["Hello.", "Fine.", "Kept."]
options: dict[str, Any] = {"model": "openai/gpt-4o-mini", "api_base": address, "instructions": "Be brief."}
first = litellm.responses(input="Hi", **options, **names("responses"))
conversation = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": [{"type": "input_text", "text": "How are you?"}]}]
litellm.responses(input=conversation, **options, **names("responses"))
litellm.responses(input="And now?", previous_response_id="resp_1", **options, **names("kept"))
litellm.embedding(model="text-embedding-3-small", input=["Hi"], mock_response=[[0.1]], **names("embedding"))
time.sleep(2)
Path(__file__).with_name("litellm.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
print("litellm", version("litellm"), len(lines))
os._exit(0)
