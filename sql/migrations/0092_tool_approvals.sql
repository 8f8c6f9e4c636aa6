-- Approvals of users that a tool was called with. An approval is good once, at whatever process.
create table mcp_approval (
  id uuid primary key,                 -- of the question, in its signed state
  organization_id uuid not null references organization (id) on delete cascade,
  used_at timestamptz not null default now()
);
create index mcp_approval_organization on mcp_approval (organization_id);
create index mcp_approval_used on mcp_approval (used_at);
