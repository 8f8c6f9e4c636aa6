/** Findings of made-up topics in a database, and the turns of the actor that groups them. */
import type { LongTurn, NewMessage } from '../../src/actors/types.ts'
import type { TextJobs, TextWork } from '../../src/analysis/analyze/text-work.ts'
import type { Json, Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { themesActor } from '../../src/understand/themes/actor.ts'
import { DIMENSIONS, SCALE } from '../../src/understand/themes/vector.rules.ts'

export interface Prepared {
  /** A text of the topic with this number, different each time. */
  textOf(topic: number): string
  readonly topics: number
  readonly textWork: TextWork
}

const LETTERS = 'baekilomun'
const word = (kind: string, n: number) =>
  `${kind}${[...String(n)].map((digit) => LETTERS[Number(digit)]).join('')}`
const any = (size: number) => Math.floor(Math.random() * size)

/** Eight words belong to each topic, and 500 to all. The vectors of a topic have a cosine of about one half. */
export function prepareTopics(topics: number): Prepared {
  const directions = Array.from({ length: topics }, randomUnit)
  const topicOf = (text: string) => Number(text.slice(text.lastIndexOf('#') + 1))
  return {
    topics,
    textOf(topic) {
      const own = Array.from({ length: 4 }, () => word('topic', topic * 8 + any(8)))
      const common = Array.from({ length: 5 }, () => word('common', any(500)))
      return `${[...own, ...common].join(' ')} #${topic}`
    },
    textWork: {
      async run(job, input) {
        if (job !== 'embed') throw new Error(`no job ${job}`)
        const { texts } = input as TextJobs['embed']['input']
        return texts.map((text) => packed(directions[topicOf(text)]!)) as never
      },
    },
  }
}

function randomUnit(): Float32Array {
  const vector = Float32Array.from(
    { length: DIMENSIONS },
    () => Math.random() + Math.random() + Math.random() - 1.5,
  )
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / length)
}

function packed(direction: Float32Array): string {
  const noise = randomUnit()
  return Buffer.from(
    Int8Array.from(direction, (x, place) => Math.round((x + noise[place]!) * Math.SQRT1_2 * SCALE)).buffer,
  ).toString('base64')
}

const CHUNK = 5_000

/** Feedback records with one finding each. Triggers put them into the queue. */
export async function loadFindings(sql: Sql, organizationId: string, prepared: Prepared, amount: number) {
  const [source] = await sql`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'bench', 'api') returning id`
  for (let from = 0; from < amount; from += CHUNK) {
    const texts = Array.from({ length: Math.min(CHUNK, amount - from) }, () =>
      prepared.textOf(any(prepared.topics)),
    )
    await sql`
      with record as (
        insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
        select ${organizationId}, ${source?.id}::bigint, now() - random() * interval '60 days', '[]'
        from generate_series(1, ${texts.length}::int)
        returning id, display_ts
      )
      insert into agent_signal (
        id, organization_id, channel, feedback_record_id, source, kind, rating, comment, occurred_at, confidence, tier, language
      )
      select gen_random_uuid(), ${organizationId}, 'feedback', r.id, 'qualitative_inference', 'complaint', 'negative', t.text, r.display_ts,
        1, 'sure', 'en'
      from (select id, display_ts, row_number() over () as n from record) r
      join unnest(${texts}::text[]) with ordinality as t (text, n) using (n)`
  }
}

/** Runs turns until the queue is empty, one after the other. */
export async function runTurns(sql: Sql, organizationId: string, textWork: TextWork) {
  const actor = themesActor({ modelServer: null, newId, textWork })
  const log = createLog('silent', 'bench')
  const waiting: { readonly type: string; readonly payload: Json }[] = [{ type: 'assign', payload: {} }]
  let slowestMs = 0
  const watch = watchPauses()
  const cpu = process.cpuUsage()
  const started = performance.now()
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const turnStarted = performance.now()
    const handler = actor.pool === 'short' ? undefined : actor.handlers[next.type]
    if (typeof handler !== 'function') throw new Error(`no handler for ${next.type}`)
    const step: LongTurn['step'] = (work) =>
      transaction(sql, (tx) =>
        work(tx, async (some: readonly NewMessage[]) => {
          waiting.push(...some.map(({ type, payload = {} }) => ({ type, payload })))
        }),
      )
    const { type, payload } = next
    await handler({
      message: { key: `themes:${organizationId}`, id: organizationId, seq: 1, type, payload, attempts: 0 },
      organization: organizationId,
      signal: new AbortController().signal,
      log,
      read: (work) => transaction(sql, work, 'read only'),
      step,
      finish: step,
    })
    slowestMs = Math.max(slowestMs, performance.now() - turnStarted)
  }
  const milliseconds = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  const [row] = await sql`
    select (select count(*)::int from theme_item where organization_id = ${organizationId}) as items,
      (select count(*)::int from theme_item where organization_id = ${organizationId} and theme_id is null) as pool,
      (select count(*)::int from theme where organization_id = ${organizationId} and merged_into is null) as themes`
  const items: number = row?.items
  const cpuMs = (user + system) / 1_000 / items
  return { items, pool: row?.pool, themes: row?.themes, milliseconds, cpuMs, slowestMs, blockedMs: watch() }
}

/** @returns a function that tells the longest time in which the thread did nothing else, in milliseconds */
function watchPauses(): () => number {
  let last = performance.now()
  let longest = 0
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - 5)
    last = now
  }, 5)
  return () => {
    clearInterval(timer)
    return longest
  }
}
