--! concurrently
-- A user message has the responses before and after it analysed again. Without this index that reads the events around it until there is one,
-- and all of them in a session without any.

create index concurrently if not exists agent_response_sequence
  on agent_response (session_id, sequence);
