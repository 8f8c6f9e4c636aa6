"""LiteLLM with Earshot. Needs `pip install litellm`; `mock_response` stands for a model."""

import litellm

from earshot import Earshot
from earshot.litellm import EarshotLogger

earshot = Earshot()
litellm.callbacks = [EarshotLogger(earshot)]

messages = [{"role": "user", "content": "Where is my invoice?"}]
metadata = {"conversation_id": "chat-1", "user_id": "customer-7"}
litellm.completion("gpt-4o-mini", messages, metadata=metadata, mock_response="Under Billing.")

earshot.flush()
