-- People sign in with a browser, and OAuth clients act for them. Secrets are kept only as SHA-256 digests.

create table user_session (
  id uuid primary key,
  user_id uuid not null references app_user (id) on delete cascade,
  hash bytea not null unique,          -- of the cookie
  user_agent text,                     -- tells sessions apart in a list
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index user_session_user on user_session (user_id, created_at desc, id desc);
create index user_session_expired on user_session (expires_at);

-- Links that sign in once. A used link is deleted.
create table sign_in_link (
  hash bytea primary key,
  user_id uuid not null references app_user (id) on delete cascade,
  -- The mail that carries the link. A repeated delivery carries another link; using one of them ends both.
  request_id uuid,
  expires_at timestamptz not null
);
create index sign_in_link_user on sign_in_link (user_id);
create index sign_in_link_request on sign_in_link (request_id) where request_id is not null;
create index sign_in_link_expired on sign_in_link (expires_at);

-- Mails that were asked for on the sign-in page, also for addresses that belong to no user.
create table sign_in_request (
  id uuid primary key,
  email text not null,
  base_url text not null,              -- where the link leads
  return_path text not null,           -- the page after the sign-in
  created_at timestamptz not null default now()
);
create index sign_in_request_email on sign_in_request (lower(email), created_at);
create index sign_in_request_created on sign_in_request (created_at);

-- What the OAuth authorization server remembers: clients, grants, codes, tokens, consent pages in progress.
create table oauth_record (
  kind text not null,                  -- `AccessToken`, `Client`, …: the model of the library
  hash bytea not null,                 -- of the id; the id of a token or code is the secret itself
  grant_id text,                       -- what is revoked together
  user_id uuid references app_user (id) on delete cascade,
  uid text,                            -- the second id of a browser session of the library
  payload jsonb not null,              -- without the id
  created_at timestamptz not null default now(),
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (kind, hash)
);
create index oauth_record_grant on oauth_record (grant_id) where grant_id is not null;
create index oauth_record_user on oauth_record (user_id) where user_id is not null;
create index oauth_record_uid on oauth_record (uid) where uid is not null;
create index oauth_record_expired on oauth_record (expires_at);
