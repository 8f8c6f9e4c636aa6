-- Themes: what customers say again and again. Only the actor `themes` of an organization, and requests of people, change the members of themes.
-- Every such change locks the organization's row of `theme_progress` first.

create table theme (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  title text not null,
  title_by text not null default 'terms' check (title_by in ('terms', 'model', 'person')),
  titled_count int not null default 0,   -- members when the title was made
  pinned boolean not null default false, -- never merged or removed by itself
  hidden boolean not null default false, -- takes items, and is not listed
  shaped boolean not null default false, -- a person merged or split it: as pinned, but not shown as such
  -- The theme that has its items now. Its id answers with that theme.
  merged_into uuid references theme (id) on delete cascade,
  -- The sum of the members' vectors: 512 signed integers of 32 bits, little-endian. A locked member counts twice.
  centroid bytea not null,
  weight int not null default 0,         -- members, locked ones counted twice
  terms jsonb not null default '{}',     -- word stem → members with it, counted as in `weight`
  count int not null default 0,          -- members
  first_at timestamptz,                  -- of the oldest member
  last_at timestamptz,                   -- of the newest member
  used_at timestamptz not null default now(), -- when it got its newest member
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index theme_organization on theme (organization_id, id);
create index theme_merged_into on theme (merged_into) where merged_into is not null;

-- A passage with a finding, at most five of a subject. Not a foreign key: a deleted subject must reduce its theme before the row goes.
create table theme_item (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  channel text not null check (channel in ('conversation', 'feedback', 'recording')),
  subject_id text not null,              -- id of the session, the feedback record or the recording
  passage text not null,                 -- hash of the quotation
  signal_id uuid not null,               -- the finding whose quotation it is
  rating text,
  occurred_at timestamptz not null,
  theme_id uuid references theme (id) deferrable initially deferred, -- null: in the pool
  score real,                            -- how near it was to the theme
  locked boolean not null default false, -- a person chose its place
  vector bytea not null,                 -- 512 signed bytes; all zeros: only words count
  terms text[] not null,                 -- word stems
  created_at timestamptz not null default now(),
  unique (organization_id, channel, subject_id, passage)
);
create index theme_item_theme on theme_item (theme_id, occurred_at desc, id desc) where theme_id is not null;
create index theme_item_pool on theme_item (organization_id, id desc) where theme_id is null;

create table theme_day (
  theme_id uuid not null references theme (id) on delete cascade,
  day date not null,                     -- in UTC
  channel text not null,
  organization_id uuid not null,
  count int not null,
  negative int not null,
  positive int not null,
  primary key (theme_id, day, channel)
);
create index theme_day_organization on theme_day (organization_id, day);

-- In how many items of an organization a word stem occurs. Rare ones are removed beyond 20,000.
create table theme_term (
  organization_id uuid not null references organization (id) on delete cascade,
  term text not null,
  count int not null,
  primary key (organization_id, term)
);

create table theme_progress (
  organization_id uuid primary key references organization (id) on delete cascade,
  items int not null default 0,
  unlinked int not null default 0,       -- items since the pool was linked
  linked_at timestamptz not null default now()
);

-- Subjects whose findings changed, in the order in which the actor looks at them.
create table theme_change (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  channel text not null,
  subject_id text not null,
  gone boolean not null                  -- findings were deleted
);
create index theme_change_order on theme_change (organization_id, gone, id);
