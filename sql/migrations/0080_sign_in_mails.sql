-- When the service decided to send the mail of a request; null if it has not. Only such requests count towards the limit of an address.

alter table sign_in_request add column mailed_at timestamptz;
create index sign_in_request_mailed on sign_in_request (lower(email), mailed_at) where mailed_at is not null;
