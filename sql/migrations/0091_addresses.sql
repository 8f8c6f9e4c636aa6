-- Addresses of users are compared with only ASCII letters folded. In other collations `lower` makes ASCII letters of some others, such as
-- the Kelvin sign, and two people would be one.
create index app_user_address on app_user (lower(email collate "C"));
