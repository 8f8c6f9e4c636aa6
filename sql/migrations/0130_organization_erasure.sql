-- An organization that is being erased: since when, and how far (src/identity/erase.store.ts). Its row goes last.

alter table organization
  add column erasure_began_at timestamptz,
  add column erasure_progress jsonb;
