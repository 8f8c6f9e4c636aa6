"""The OpenAI Agents SDK with Earshot. Needs `pip install openai-agents` and OPENAI_API_KEY."""

from agents import Agent, RunConfig, Runner, add_trace_processor

from earshot import Earshot
from earshot.openai_agents import EarshotTraceProcessor

add_trace_processor(EarshotTraceProcessor(Earshot()))

agent = Agent(name="support", instructions="Answer in one sentence.")
history = []
for question in ("Where is my invoice?", "Thank you."):
    history.append({"role": "user", "content": question})
    result = Runner.run_sync(agent, history, run_config=RunConfig(group_id="chat-1", trace_metadata={"user_id": "customer-7"}))
    history = result.to_input_list()
