/** The SQL of erasing a person from sessions of coding agents. `patterns` are regular expressions of PostgreSQL for names and addresses. */
import type { Json, Tx } from '../../platform/db/pool.ts'

/**
 * Up to `limit` events after the id `after`: the last of these ids, and the sessions with an event that names the person and was received
 * until `until`.
 */
export async function scanEvents(
  tx: Tx,
  organizationId: string,
  patterns: readonly string[],
  until: Date,
  after: string,
  limit: number,
): Promise<{ readonly last: string | null; readonly sessionIds: readonly string[] }> {
  const [end] = await tx<{ last: string; events: number }[]>`
    select page.event_id as last, (count(*) over ())::int as events
    from (
      select event_id
      from coding_session_event
      where organization_id = ${organizationId} and event_id > ${after}
      order by event_id
      limit ${limit}
    ) page
    order by page.event_id desc
    limit 1`
  if (end === undefined) return { last: null, sessionIds: [] }
  // Forks have events with the same id.
  const rows = await tx<{ id: string }[]>`
    select distinct e.session_id as id
    from coding_session_event e
    where e.organization_id = ${organizationId}
      and e.event_id > ${after}
      and e.event_id <= ${end.last}
      and coalesce(e.stored_at <= ${until}, true)
      and e.body::text ~* any(${patterns as string[]}::text[])`
  return { last: end.events < limit ? null : end.last, sessionIds: rows.map(({ id }) => id) }
}

export interface Labelled {
  readonly id: string
  readonly title: string | null
  readonly repo: string | null
  readonly branch: string | null
}

const LABELS = ['title', 'repo', 'branch'] as const

const named = (tx: Tx, patterns: readonly string[]) => tx`
  concat_ws(' ', ${tx(LABELS[0])}, ${tx(LABELS[1])}, ${tx(LABELS[2])}) ~* any(${patterns as string[]}::text[])`

/** Locks sessions with labels that name the person and were received until `until`. */
export function readNamedSessions(
  tx: Tx,
  organizationId: string,
  patterns: readonly string[],
  until: Date,
  after: string,
  limit: number,
) {
  return tx<Labelled[]>`
    select id, title, repo, branch
    from coding_session
    where organization_id = ${organizationId} and id > ${after} and ${named(tx, patterns)}
      and coalesce(labelled_at <= ${until}, true)
    order by id
    limit ${limit}
    for update`
}

/** Locks a session. `isLabelledBefore`: its labels were received until `until`. @returns null where it was deleted */
export async function lockSession(
  tx: Tx,
  organizationId: string,
  id: string,
  until: Date,
): Promise<(Labelled & { readonly isLabelledBefore: boolean }) | null> {
  const [row] = await tx<(Labelled & { readonly isLabelledBefore: boolean })[]>`
    select id, title, repo, branch, coalesce(labelled_at <= ${until}, true) as "isLabelledBefore"
    from coding_session
    where organization_id = ${organizationId} and id = ${id}
    for update`
  return row ?? null
}

export async function writeLabels(tx: Tx, organizationId: string, rows: readonly Labelled[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update coding_session s
    set title = c.title, repo = c.repo, branch = c.branch, updated_at = now()
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, title text, repo text, branch text)
    where s.organization_id = ${organizationId} and s.id = c.id`
}

/** What uploaders stated until `until` about files that name the person. */
export function readNamedUploads(
  tx: Tx,
  organizationId: string,
  patterns: readonly string[],
  until: Date,
  after: string,
  limit: number,
) {
  return tx<Labelled[]>`
    select upload_id as id, title, repo, branch
    from coding_session_upload
    where organization_id = ${organizationId} and upload_id > ${after} and ${named(tx, patterns)}
      and coalesce(created_at <= ${until}, true)
    order by upload_id
    limit ${limit}
    for update`
}

export async function writeUploadLabels(
  tx: Tx,
  organizationId: string,
  rows: readonly Labelled[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update coding_session_upload s
    set title = c.title, repo = c.repo, branch = c.branch
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, title text, repo text, branch text)
    where s.organization_id = ${organizationId} and s.upload_id = c.id`
}

export interface StoredEvent {
  readonly id: string
  readonly position: number
  readonly body: Json
}

/** Events of a session behind a position that were received until `until`, in order. */
export function readBodies(
  tx: Tx,
  organizationId: string,
  sessionId: string,
  until: Date,
  after: readonly [position: number, id: string],
  limit: number,
) {
  return tx<StoredEvent[]>`
    select event_id as id, position, body
    from coding_session_event
    where organization_id = ${organizationId} and session_id = ${sessionId}
      and (position, event_id) > (${after[0]}::bigint, ${after[1]}::uuid)
      and coalesce(stored_at <= ${until}, true)
    order by position, event_id
    limit ${limit}`
}

export async function writeBodies(
  tx: Tx,
  organizationId: string,
  sessionId: string,
  rows: readonly StoredEvent[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update coding_session_event e
    set body = c.body
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, body jsonb)
    where e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.event_id = c.id`
}
