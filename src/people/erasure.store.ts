/** SQL of erasures: search terms, progress and counts. */
import type { RunningTurn } from '../actors/running-turns.ts'
import type { Json, Query, Tx } from '../platform/db/pool.ts'
import type { ErasureKind } from './erasure.ts'

export interface ErasureTerms {
  readonly email: string | null
  readonly names: readonly string[]
  readonly recordingIds: readonly string[]
  /** Addresses in lower case, and public ids, of people who were merged into this one. Absent in erasures of older versions. */
  readonly formerEmails?: readonly string[]
  readonly formerPublicIds?: readonly string[]
}

export type Counts = Readonly<Partial<Record<ErasureKind, number>>>

export interface Erasure {
  readonly id: string
  readonly personId: number
  readonly counts: Counts
  readonly requestedAt: Date
  readonly finishedAt: Date | null
}

export interface Progress {
  /** Name of the reach that runs next. */
  readonly reach: string
  readonly from: Json | null
  /** From 1. Absent, as the members below, in erasures that an older version began. */
  readonly pass?: number
  /** Whether this pass has erased something. */
  readonly changed?: boolean
  /** What the erasure waits for before the pass. */
  readonly wait?: Wait | null
}

export interface Wait {
  /** Milliseconds since 1970. */
  readonly since: number
  readonly transactions: readonly string[]
  readonly turns: readonly RunningTurn[]
}

export interface OpenErasure extends Erasure {
  readonly organizationId: string
  readonly publicId: string
  readonly terms: ErasureTerms
  readonly progress: Progress | null
}

const columns = (sql: Query) => sql`
  id, person_id as "personId", counts, requested_at as "requestedAt", finished_at as "finishedAt"`

export async function insertErasure(
  tx: Tx,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly personId: number
    readonly publicId: string
    readonly terms: ErasureTerms
    readonly counts: Counts
  },
): Promise<Erasure> {
  const { id, organizationId, personId, publicId, terms, counts } = row
  const [inserted] = await tx<Erasure[]>`
    insert into person_erasure (id, organization_id, person_id, public_id, terms, counts, requested_at)
    values (
      ${id}, ${organizationId}, ${personId}, ${publicId}, ${JSON.stringify(terms)}::text::jsonb,
      ${JSON.stringify(counts)}::text::jsonb,
      -- A Date has milliseconds.
      date_trunc('milliseconds', clock_timestamp() + interval '1 millisecond')
    )
    returning ${columns(tx)}`
  return inserted as Erasure
}

export async function findErasure(query: Query, organizationId: string, id: string): Promise<Erasure | null> {
  const [row] = await query<Erasure[]>`
    select ${columns(query)}
    from person_erasure
    where organization_id = ${organizationId} and id = ${id}`
  return row ?? null
}

/** Finds an erasure by the id in the actor's key. @returns null if it is finished, or deleted with its organization */
export async function lockOpenErasure(tx: Tx, id: string): Promise<OpenErasure | null> {
  const [row] = await tx<OpenErasure[]>`
    select ${columns(tx)}, organization_id as "organizationId", public_id as "publicId", terms, progress
    from person_erasure
    where id = ${id} and finished_at is null
    for update`
  return row ?? null
}

export async function saveErasure(
  tx: Tx,
  { organizationId, id }: Pick<OpenErasure, 'organizationId' | 'id'>,
  progress: Progress,
  counts: Counts,
): Promise<void> {
  await tx`
    update person_erasure
    set progress = ${JSON.stringify(progress)}::text::jsonb, counts = ${JSON.stringify(counts)}::text::jsonb
    where organization_id = ${organizationId} and id = ${id}`
}

/** Deletes the search terms. The row no longer names the person. */
export async function finishErasure(
  tx: Tx,
  { organizationId, id }: Pick<OpenErasure, 'organizationId' | 'id'>,
  counts: Counts,
): Promise<void> {
  await tx`
    update person_erasure
    set progress = null, terms = null, finished_at = clock_timestamp(), counts = ${JSON.stringify(counts)}::text::jsonb
    where organization_id = ${organizationId} and id = ${id}`
}

/** When the erasures that run were requested, as text with microseconds. */
export async function listRunning(query: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await query<{ requestedAt: string }[]>`
    select requested_at::text as "requestedAt"
    from person_erasure
    where organization_id = ${organizationId} and finished_at is null`
  return rows.map(({ requestedAt }) => requestedAt)
}

/** Those of the addresses whose owners are being erased, with everything that was received until `receivedAt`. In lower case. */
export async function erasedEmails(
  query: Query,
  organizationId: string,
  emails: readonly string[],
  receivedAt: Date,
): Promise<ReadonlySet<string>> {
  const rows = await query<{ email: string }[]>`
    select lower(w.email) as email
    from unnest(${emails as string[]}::text[]) as w (email)
    where exists (
      select
      from person_erasure e
      where e.organization_id = ${organizationId}
        and e.finished_at is null
        and e.requested_at >= ${receivedAt}
        and (
          lower(e.terms ->> 'email') = lower(w.email)
          or e.terms -> 'formerEmails' @> to_jsonb(lower(w.email))
        )
    )`
  return new Set(rows.map(({ email }) => email))
}
