-- Findings are stored with their place in the product. Only signals of explicit feedback need the look for it.

drop trigger agent_signal_place on agent_signal;
create trigger agent_signal_place before insert on agent_signal
  for each row when (new.session_id is not null and new.source = 'explicit_feedback')
  execute function agent_signal_place();
