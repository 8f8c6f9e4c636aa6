"""Records the callbacks of LangChain on a handler. Needs langchain-core."""

import json
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

lines: list[dict[str, Any]] = []


def plain(message: Any) -> dict[str, Any]:
    return {"type": message.type, "content": message.content, "id": message.id}


class Recorder(BaseCallbackHandler):
    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **more: Any) -> None:
        lines.append({
            "call": "on_chat_model_start", "run_id": str(run_id), "tags": more.get("tags"), "metadata": more.get("metadata"),
            "messages": [[plain(message) for message in batch] for batch in messages],
        })

    def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
        generations = [[{"text": one.text, "message": plain(one.message)} for one in some] for some in response.generations]
        lines.append({"call": "on_llm_end", "run_id": str(run_id), "generations": generations})

    def on_llm_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        lines.append({"call": "on_llm_error", "run_id": str(run_id)})


tool_call = {"name": "find", "args": {}, "id": "t1", "type": "tool_call"}
answers = iter([
    AIMessage("Under Billing."), AIMessage("", tool_calls=[tool_call]), AIMessage("It is 12 euros."), AIMessage("Title"),
    AIMessage([{"type": "text", "text": "You are"}, {"type": "text", "text": "welcome."}]),
])
model = GenericFakeChatModel(messages=answers)
config: Any = {"callbacks": [Recorder()], "metadata": {"thread_id": "chat-1", "user_id": "customer-7"}}

history: list[Any] = [SystemMessage("Be brief."), HumanMessage("Where is my invoice?")]
history.append(model.invoke(history, config))
history.append(HumanMessage("How much is it?"))
history.append(model.invoke(history, config))
history.append(ToolMessage("12", tool_call_id="t1"))
chunks = list(model.stream(history, config))
whole = chunks[0]
for chunk in chunks[1:]:
    whole = whole + chunk
history.append(whole)
model.invoke([HumanMessage("Make a title.")], {**config, "tags": ["earshot:ignore"]})
# An application that keeps texts only: its messages have no ids.
texts: list[Any] = [HumanMessage(m.text) if m.type == "human" else AIMessage(m.text) for m in history if m.type in ("human", "ai", "AIMessageChunk") and m.text]
texts.append(HumanMessage("Thank you."))
model.invoke(texts, config)
try:
    model.invoke(texts, config)
except Exception:
    pass

Path(__file__).with_name("langchain.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
