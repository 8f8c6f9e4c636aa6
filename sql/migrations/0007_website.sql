-- The forms of the website. Submissions belong to the operator of the service, not to one of its organizations, so they
-- name none.

create table form_submission (
  id uuid primary key,
  form text not null,                       -- last part of the path, such as 'contact'
  email text not null,                      -- as given
  fields jsonb not null,                    -- the other members, those left empty left out
  received_at timestamptz not null default now(),
  confirmation_refused text                 -- what the mail server said of the address, where it refused the confirmation
);

-- An address is on a list once, however it is spelt.
create unique index form_submission_once on form_submission (form, lower(email))
  where form in ('builder-waitlist', 'development-waitlist', 'mobile-reminder');

create index form_submission_sender on form_submission (lower(email), form, received_at);
