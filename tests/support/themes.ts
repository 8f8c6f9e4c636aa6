/** Helpers for tests of themes: findings in the database, and turns of the actor without a worker. */
import { type LongTurn, type NewMessage, NO_ORGANIZATION } from '../../src/actors/types.ts'
import type { ChatServer } from '../../src/analysis/analyze/chat.ts'
import type { TextJobs, TextWork } from '../../src/analysis/analyze/text-work.ts'
import type { Json, Query, Sql, Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { themesActor } from '../../src/understand/themes/actor.ts'
import { DIMENSIONS, SCALE } from '../../src/understand/themes/vector.rules.ts'

export interface TestFinding {
  readonly text: string
  readonly kind?: string
  readonly rating?: 'positive' | 'negative' | null
  readonly confidence?: number
  readonly shown?: boolean
  readonly language?: string
  readonly occurredAt?: string
}

/** A feedback record with findings, as the analysis writes them. @returns ids of the record and of the findings */
export async function addRecord(sql: Query, organizationId: string, findings: readonly TestFinding[]) {
  const [source] = await sql`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'Desk', 'api') returning id`
  const [record] = await sql`
    insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
    values (${organizationId}, ${source?.id}, now(), '[]') returning id`
  const recordId: number = record?.id
  const signalIds: string[] = []
  for (const finding of findings) signalIds.push(await addFinding(sql, organizationId, recordId, finding))
  return { recordId, signalIds }
}

export async function addFinding(
  sql: Query,
  organizationId: string,
  recordId: number,
  {
    text,
    kind = 'bug_report',
    rating = 'negative',
    confidence = 1,
    shown = true,
    language = 'en',
    occurredAt,
  }: TestFinding,
): Promise<string> {
  const id = newId()
  await sql`
    insert into agent_signal (
      id, organization_id, channel, feedback_record_id, source, kind, rating, comment, occurred_at, confidence, tier, field,
      analyzer_name, analyzer_version, language, shown
    )
    values (
      ${id}, ${organizationId}, 'feedback', ${recordId}, 'qualitative_inference', ${kind}, ${rating}, ${text},
      coalesce(${occurredAt ?? null}::text::timestamptz, now()), ${confidence}, 'sure', 'comment', 'test', '1', ${language}, ${shown}
    )`
  return id
}

export async function addOrganization(sql: Sql): Promise<string> {
  const id = newId()
  await sql`insert into organization (id, name) values (${id}, 'Test')`
  return id
}

/** Vectors by words: texts that share words are near to each other. */
export const wordVectors: TextWork = {
  async run(job, input) {
    if (job !== 'embed') throw new Error(`no job ${job}`)
    const { texts } = input as TextJobs['embed']['input']
    return texts.map(vectorOfWords) as never
  },
}

function vectorOfWords(text: string): string {
  const sum = new Float64Array(DIMENSIONS)
  for (const word of text.toLowerCase().match(/[a-z]{4,}/g) ?? []) {
    let seed = Bun.hash.crc32(word)
    for (let place = 0; place < DIMENSIONS; place++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      sum[place]! += seed / 2 ** 31 - 1
    }
  }
  const length = Math.hypot(...sum) || 1
  return Buffer.from(Int8Array.from(sum, (x) => Math.round((x / length) * SCALE)).buffer).toString('base64')
}

export interface ThemesOptions {
  readonly textWork?: TextWork
  readonly modelServer?: ChatServer
  /** Changes the transaction of a turn, to end it between two statements. */
  readonly wrap?: (tx: Tx) => Tx
}

/** The actor of an organization, without a worker: its messages wait in an array. */
export function createThemesRunner(sql: Sql, organizationId: string, options: ThemesOptions = {}) {
  const { textWork = wordVectors, modelServer = null, wrap = (tx: Tx) => tx } = options
  const actor = themesActor({ modelServer, newId, textWork })
  const waiting: NewMessage[] = []

  /** Runs one turn. What it sends waits, if the turn commits. */
  async function run(type: string, payload: Json = {}, attempts = 0): Promise<void> {
    const handler = actor.pool === 'short' ? undefined : actor.handlers[type]
    if (typeof handler !== 'function') throw new Error(`no handler for ${type}`)
    const step: LongTurn['step'] = async (work) => {
      const sent: NewMessage[] = []
      const result = await transaction(sql, (tx) => work(wrap(tx), async (some) => void sent.push(...some)))
      waiting.push(...sent)
      return result
    }
    await handler({
      message: { key: `themes:${organizationId}`, id: organizationId, seq: 1, type, payload, attempts },
      organization: NO_ORGANIZATION,
      signal: new AbortController().signal,
      log: createLog('silent', 'test'),
      read: (work) => transaction(sql, (tx) => work(wrap(tx)), 'read only'),
      step,
      finish: step,
    })
  }

  /** Runs the messages that turns sent. */
  async function drain(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await run(next.type, next.payload)
  }

  return {
    actor,
    waiting,
    run,
    drain,
    /** Looks at all changes, then links the pool. */
    async settle(): Promise<void> {
      for (const type of ['forget', 'assign', 'link']) {
        await run(type)
        await drain()
      }
    },
  }
}

/** Vectors of an earlier version have another length and do not count. */
function addVector(sum: number[], { buffer, byteOffset, length }: Uint8Array, times: number): void {
  if (length !== DIMENSIONS) return
  for (const [place, x] of new Int8Array(buffer, byteOffset, length).entries()) sum[place]! += x * times
}

/** Everything about the organization's themes, and whether the totals are those of the members. */
export async function disagreements(sql: Sql, organizationId: string): Promise<readonly string[]> {
  const themes = await sql`
    select t.id, t.count, t.weight, t.centroid, t.terms,
      (select count(*)::int from theme_item i where i.theme_id = t.id) as members,
      (select coalesce(sum(1 + i.locked::int), 0)::int from theme_item i where i.theme_id = t.id) as heavy,
      (select coalesce(sum(d.count), 0)::int from theme_day d where d.theme_id = t.id) as days,
      (select count(*)::int from theme_item i where i.theme_id = t.id and i.rating = 'negative') as bad,
      (select coalesce(sum(d.negative), 0)::int from theme_day d where d.theme_id = t.id) as "badDays"
    from theme t where t.organization_id = ${organizationId} order by t.id`
  const wrong: string[] = []
  for (const theme of themes) {
    if (theme.count !== theme.members) wrong.push(`${theme.id} counts ${theme.count}, has ${theme.members}`)
    if (theme.weight !== theme.heavy)
      wrong.push(`${theme.id} weighs ${theme.weight} instead of ${theme.heavy}`)
    if (theme.days !== theme.members) wrong.push(`${theme.id} has ${theme.days} in its days`)
    if (theme.badDays !== theme.bad) wrong.push(`${theme.id} has ${theme.badDays} negative in its days`)
    const items = await sql`select vector, locked, terms from theme_item where theme_id = ${theme.id}`
    const sum = Array.from({ length: DIMENSIONS }, () => 0)
    const terms = new Map<string, number>()
    for (const item of items) {
      addVector(sum, item.vector, item.locked ? 2 : 1)
      for (const term of item.terms) terms.set(term, (terms.get(term) ?? 0) + (item.locked ? 2 : 1))
    }
    const stored = sum.map((_, place) => theme.centroid.readInt32LE(place * 4))
    if (!Bun.deepEquals(stored, sum)) wrong.push(`${theme.id} has another centroid than its members`)
    for (const [term, count] of Object.entries(theme.terms))
      if ((count as number) > (terms.get(term) ?? 0)) wrong.push(`${theme.id} counts ${term} too often`)
  }
  const days = await sql`
    with counted as (
      select theme_id, day, channel, count, negative, positive from theme_day where organization_id = ${organizationId}
    ), said as (
      select i.theme_id, (i.occurred_at at time zone p.time_zone)::date as day, i.channel, count(*)::int,
        (count(*) filter (where i.rating = 'negative'))::int, (count(*) filter (where i.rating = 'positive'))::int
      from theme_item i
      join theme_progress p on p.organization_id = i.organization_id
      where i.organization_id = ${organizationId} and i.theme_id is not null
      group by 1, 2, 3
    )
    select theme_id, day::text from ((table counted except table said) union (table said except table counted)) as d`
  for (const { theme_id, day } of days) wrong.push(`${theme_id} has another count on ${day} than items`)
  const [totals] = await sql`
    select (select items from theme_progress where organization_id = ${organizationId}) as items,
      (select count(*)::int from theme_item where organization_id = ${organizationId}) as rows,
      (select coalesce(sum(count), 0)::int from theme_term where organization_id = ${organizationId}) as terms,
      (select coalesce(sum(cardinality(terms)), 0)::int from theme_item where organization_id = ${organizationId}) as stems`
  const items = await sql`select vector from theme_item where organization_id = ${organizationId}`
  const all = Array.from({ length: DIMENSIONS }, () => 0)
  for (const { vector } of items) addVector(all, vector, 1)
  const [progress] =
    await sql`select vector_sum from theme_progress where organization_id = ${organizationId}`
  const sum = all.map((_, place) => progress?.vector_sum?.readInt32LE(place * 4) ?? 0)
  if (!Bun.deepEquals(sum, all)) wrong.push('the sum of all vectors is another')
  if ((totals?.items ?? 0) !== totals?.rows) wrong.push(`${totals?.items} items instead of ${totals?.rows}`)
  if (totals?.terms !== totals?.stems) wrong.push(`${totals?.terms} terms instead of ${totals?.stems}`)
  return wrong
}
