/** SQL of import sources: their settings, their position and their outcome. */
import type { Json, Query, Tx } from '../../../platform/db/pool.ts'

export interface SourceRef {
  readonly organizationId: string
  readonly id: string
}

export interface SourceRow {
  readonly id: string
  readonly applicationId: string
  readonly provider: string
  readonly url: string
  readonly account: string | null
  readonly environment: string | null
  readonly since: Date
  readonly everyMinutes: number
  readonly conversations: number
  readonly messages: number
  readonly refused: number
  readonly nextReadAt: Date
  readonly lastReadAt: Date | null
  readonly caughtUpAt: Date | null
  readonly errorCode: string | null
  readonly failedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = (query: Query) => query`
  s.id, s.application_id as "applicationId", s.provider, s.url, s.account, s.environment, s.since,
  s.every_minutes as "everyMinutes", s.conversations, s.messages, s.refused, s.due_at as "nextReadAt",
  s.read_at as "lastReadAt", s.caught_up_at as "caughtUpAt", s.error_code as "errorCode", s.failed_at as "failedAt",
  s.created_at as "createdAt", s.updated_at as "updatedAt"`

export interface NewSource extends SourceRef {
  readonly applicationId: string
  readonly provider: string
  readonly url: string
  readonly account: string | null
  readonly secret: Uint8Array
  readonly environment: string | null
  readonly since: Date
  readonly everyMinutes: number
}

export async function countSources(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from import_source where organization_id = ${organizationId}`
  return row?.count ?? 0
}

export async function insertSource(tx: Tx, source: NewSource): Promise<void> {
  await tx`
    insert into import_source (
      id, organization_id, application_id, provider, url, account, secret, environment, since, every_minutes
    )
    values (
      ${source.id}, ${source.organizationId}, ${source.applicationId}, ${source.provider}, ${source.url},
      ${source.account}, ${Buffer.from(source.secret)}, ${source.environment}, ${source.since}, ${source.everyMinutes}
    )`
}

export async function findSource(
  query: Query,
  { organizationId, id }: SourceRef,
  applicationId: string,
): Promise<SourceRow | null> {
  const [row] = await query<SourceRow[]>`
    select ${columns(query)}
    from import_source s
    where s.organization_id = ${organizationId}
      and s.application_id = ${applicationId}
      and s.id = ${id}`
  return row ?? null
}

/** Oldest first. */
export function listSources(query: Query, organizationId: string, applicationId: string) {
  return query<SourceRow[]>`
    select ${columns(query)}
    from import_source s
    where s.organization_id = ${organizationId}
      and s.application_id = ${applicationId}
    order by s.created_at, s.id`
}

/** @returns false if there is none */
export async function deleteSource(
  tx: Tx,
  { organizationId, id }: SourceRef,
  applicationId: string,
): Promise<boolean> {
  const { count } = await tx`
    delete from import_source
    where organization_id = ${organizationId} and application_id = ${applicationId} and id = ${id}`
  return count > 0
}

/** The source is due now, or when the pause ends that its provider asked for. @returns false if there is none */
export async function hastenSource(
  tx: Tx,
  { organizationId, id }: SourceRef,
  applicationId: string,
): Promise<boolean> {
  const { count } = await tx`
    update import_source
    set due_at = greatest(now(), paused_until), updated_at = now()
    where organization_id = ${organizationId} and application_id = ${applicationId} and id = ${id}`
  return count > 0
}

/** Where a source reads. */
export interface Position {
  readonly cursor: string | null
  /** Keys of items that are stored already, of the page that begins at the cursor. */
  readonly done: readonly string[]
}

export interface DueSource {
  readonly applicationId: string
  readonly provider: string
  readonly url: string
  readonly account: string | null
  readonly secret: Uint8Array
  readonly environment: string | null
  readonly since: Date
  readonly position: Position | null
  /** Since when it is due, in microseconds as PostgreSQL writes it. Another value at the end of a turn: it was hastened meanwhile. */
  readonly dueAt: string
  /** In a row. */
  readonly failures: number
}

/** Null: the source is not due, or was deleted. */
export async function findDueSource(
  query: Query,
  { organizationId, id }: SourceRef,
): Promise<DueSource | null> {
  const [row] = await query<DueSource[]>`
    select application_id as "applicationId", provider, url, account, secret, environment, since, position, failures,
      due_at::text as "dueAt"
    from import_source
    where organization_id = ${organizationId}
      and id = ${id}
      and due_at <= now()`
  return row ?? null
}

export interface Progress {
  readonly position: Position
  readonly conversations: number
  readonly messages: number
  readonly refused: number
}

/** @returns false if the source was deleted */
export async function recordProgress(
  tx: Tx,
  { organizationId, id }: SourceRef,
  { position, conversations, messages, refused }: Progress,
): Promise<boolean> {
  const { count } = await tx`
    update import_source
    set position = ${tx.json(position as unknown as Json)}, conversations = conversations + ${conversations}::int,
      messages = messages + ${messages}::int, refused = refused + ${refused}::int, read_at = now()
    where organization_id = ${organizationId} and id = ${id}`
  return count > 0
}

/** Nothing newer is known: the source rests for its interval, unless it was hastened during the turn. */
export async function recordCaughtUp(
  tx: Tx,
  { organizationId, id }: SourceRef,
  { dueAt }: Pick<DueSource, 'dueAt'>,
): Promise<void> {
  await tx`
    update import_source
    set due_at = case when due_at = ${dueAt}::text::timestamptz then now() + every_minutes * interval '1 minute' else due_at end,
      paused_until = null, read_at = now(), caught_up_at = now(),
      failures = 0, error_code = null, failed_at = null
    where organization_id = ${organizationId} and id = ${id}`
}

/** There is more to read. */
export async function recordMore(tx: Tx, { organizationId, id }: SourceRef): Promise<void> {
  await tx`
    update import_source
    set due_at = now(), paused_until = null, failures = 0, error_code = null, failed_at = null
    where organization_id = ${organizationId} and id = ${id}`
}

/** The provider asked for a pause. */
export async function recordPause(tx: Tx, { organizationId, id }: SourceRef, seconds: number): Promise<void> {
  await tx`
    update import_source
    set due_at = now() + ${seconds}::int * interval '1 second', paused_until = now() + ${seconds}::int * interval '1 second'
    where organization_id = ${organizationId} and id = ${id}`
}

/**
 * The next attempt is due after `firstSeconds`, twice as long after each failure in a row, at most `maxSeconds`; at once if the source was
 * hastened during the turn.
 */
export async function recordFailure(
  tx: Tx,
  { organizationId, id }: SourceRef,
  { dueAt }: Pick<DueSource, 'dueAt'>,
  code: string,
  { firstSeconds, maxSeconds }: { readonly firstSeconds: number; readonly maxSeconds: number },
): Promise<void> {
  await tx`
    update import_source
    set failures = failures + 1, error_code = ${code}, failed_at = now(), paused_until = null,
      due_at = case when due_at = ${dueAt}::text::timestamptz
        then now() + least(${maxSeconds}::float8, ${firstSeconds}::float8 * 2 ^ least(failures, 20)) * interval '1 second'
        else due_at end
    where organization_id = ${organizationId} and id = ${id}`
}

/** Locks due sources of every organization, the longest due first. One that is being deleted is skipped: its actor goes with it. */
export function lockDueSources(tx: Tx, limit: number) {
  return tx<SourceRef[]>`
    select organization_id as "organizationId", id
    from import_source
    where due_at <= now()
    order by due_at
    limit ${limit}
    for key share skip locked`
}
