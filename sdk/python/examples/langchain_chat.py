"""LangChain with Earshot. Needs `pip install langchain-core` and a chat model; here a fake one answers."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from earshot import Earshot
from earshot.langchain import EarshotCallbackHandler

earshot = Earshot()
model = GenericFakeChatModel(messages=iter([AIMessage("Under Billing."), AIMessage("You are welcome.")]))
config = {"callbacks": [EarshotCallbackHandler(earshot)], "metadata": {"conversation_id": "chat-1", "user_id": "customer-7"}}

history: list[BaseMessage] = []
for question in ("Where is my invoice?", "Thank you."):
    history.append(HumanMessage(question))
    history.append(model.invoke(history, config))

earshot.session("chat-1").feedback(history[-1], "positive")
earshot.flush()
