-- The audit log of one action, which may be rare among many others.

create index audit_entry_action on audit_entry (organization_id, action, occurred_at desc, id desc);
