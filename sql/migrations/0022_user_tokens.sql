-- User tokens can be revoked, and members can be removed.

-- One row for each token that this service signed, under its `jti`. The token itself is not stored: its signature proves it.
create table user_token (
  id uuid primary key,
  user_id uuid not null references app_user (id) on delete cascade,
  -- The only organization in which the token is good; null: every organization of its user.
  organization_id uuid references organization (id) on delete cascade,
  name text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index user_token_user on user_token (user_id, created_at desc, id desc);
create index user_token_organization on user_token (organization_id) where organization_id is not null;
create index user_token_expired on user_token (expires_at);

-- A token that is good in every organization of its user, refused by one of them.
create table user_token_refusal (
  token_id uuid not null references user_token (id) on delete cascade,
  organization_id uuid not null references organization (id) on delete cascade,
  refused_at timestamptz not null default now(),
  primary key (token_id, organization_id)
);
create index user_token_refusal_organization on user_token_refusal (organization_id);

-- Tokens of the user that were issued before this moment are refused: everywhere, or in the one organization. This reaches
-- tokens without a row, too: those of an OpenID Connect issuer, and those that were signed before `user_token` existed.
alter table app_user add column tokens_not_before timestamptz;
alter table membership add column tokens_not_before timestamptz;

-- Members who were removed. Their private folders stay theirs until somebody takes them over or they are added again.
create table former_member (
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  joined_at timestamptz not null,
  removed_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index former_member_user on former_member (user_id);
