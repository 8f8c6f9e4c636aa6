-- An organization may add any user by an e-mail address. Until that user first acts in the organization, it is an invitation: it shows the
-- name that the organization gave, and changes nothing for the user elsewhere.

alter table membership add column invited_name text;    -- null: the user has acted in the organization, or the operator added them
alter table former_member add column invited_name text; -- null: the user had acted in the organization
