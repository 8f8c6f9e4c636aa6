"""Records what the OpenAI Agents SDK calls on a trace processor. Needs openai-agents. A local server stands for OpenAI."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents import (
    Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool, set_trace_processors,
)
from agents.tracing import TracingProcessor
from openai import AsyncOpenAI

lines: list[dict[str, Any]] = []
answers: list[Any] = []
count = 0


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": f"msg_{count}", "role": "assistant", "status": "completed", "content": [part]}


def call(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{count}", "call_id": f"call_{count}", "name": name, "arguments": arguments, "status": "completed"}


class OpenAI(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        global count
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        count += 1
        answer = answers.pop(0)
        item = answer() if callable(answer) else message(answer)
        if self.path.endswith("/responses"):
            reply: Any = {
                "id": f"resp_{count}", "object": "response", "created_at": 1, "model": "m", "output": [item], "status": "completed",
                "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
                "previous_response_id": body.get("previous_response_id"),
            }
        else:
            said = {"role": "assistant", "content": answer}
            reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": said}]}
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


class Recorder(TracingProcessor):
    def on_trace_start(self, trace: Any) -> None:
        members = {"trace_id": trace.trace_id, "group_id": trace.group_id, "metadata": trace.metadata}
        lines.append({"call": "on_trace_start", **members})

    def on_trace_end(self, trace: Any) -> None:
        lines.append({"call": "on_trace_end", "trace_id": trace.trace_id})

    def on_span_start(self, span: Any) -> None:
        lines.append({"call": "on_span_start", **self.ids(span), "span_data": {"type": span.span_data.type}})

    def on_span_end(self, span: Any) -> None:
        data = span.span_data
        members: dict[str, Any] = {"type": data.type}
        if data.type in ("response", "generation"):
            members.update({name: plain(getattr(data, name, None)) for name in ("input", "output", "response")})
        lines.append({"call": "on_span_end", **self.ids(span), "span_data": members})

    def ids(self, span: Any) -> dict[str, Any]:
        return {"trace_id": span.trace_id, "span_id": span.span_id, "parent_id": span.parent_id}

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


@function_tool
def find() -> str:
    return "12"


server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAI)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
set_trace_processors([Recorder()])
model = OpenAIResponsesModel("m", client)
helper = Agent(name="helper", model=model)
agent = Agent(name="support", instructions="Be brief.", model=model, tools=[find, helper.as_tool("helper", "helps")])


def settings(group: str) -> RunConfig:
    return RunConfig(group_id=group, trace_metadata={"user_id": "customer-7"})


answers += ["Under Billing.", lambda: call("find"), "It is 12 euros.", lambda: call("helper", '{"input": "inner question"}'), "inner answer", "Yes.", "Yes."]
history: Any = "Where is my invoice?"
for question in ("How much is it?", "Sure?", "Sure?", None):
    result = Runner.run_sync(agent, history, run_config=settings("responses"))
    history = [*result.to_input_list(), {"role": "user", "content": question}]

answers += ["Hello.", "Hello."]
plain_agent = Agent(name="chat", instructions="Be brief.", model=OpenAIChatCompletionsModel("m", client))
result = Runner.run_sync(plain_agent, "Hi", run_config=settings("completions"))
Runner.run_sync(plain_agent, [*result.to_input_list(), {"role": "user", "content": "Hi"}], run_config=settings("completions"))

answers += ["One.", "One."]
first = Runner.run_sync(helper, "Again", run_config=settings("kept"))
Runner.run_sync(helper, "Again", previous_response_id=first.last_response_id, run_config=settings("kept"))

Path(__file__).with_name("openai_agents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
