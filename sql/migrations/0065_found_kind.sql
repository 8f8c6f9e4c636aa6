-- The kind that the analyser gave a finding, where a person gave it another one. Null: they are the same.

alter table agent_signal add column found_kind text;
