-- When the session's actor had its last turn: messages that are sent soon after it wait, so that several requests share the next one.

alter table agent_session add column turned_at timestamptz;
