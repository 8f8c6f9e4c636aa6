/**
 * How often a search finds what was asked in other words: questions of Banking77 among the others.
 *
 * `bun bench/search-meaning.ts FOLDER`: FOLDER has `banking77.en.jsonl` (data/insight/public/sources.json says where it comes from). Three times,
 * 300 random questions are asked, none of which is stored. Right: one of the first five passages has the same intent.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { shuffled } from '../scripts/train/random.ts'
import { createTextWorkHere } from '../src/analysis/analyze/text-work.ts'
import { createFolders } from '../src/calls/folders/service.ts'
import { createConversations } from '../src/hear/agents/reads/service.ts'
import { systemClock } from '../src/platform/clock.ts'
import { runDataChange } from '../src/platform/db/data-change.ts'
import { newId } from '../src/platform/ids.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createRandom } from '../src/platform/random.ts'
import { createSearchChanges } from '../src/understand/search/backfill.ts'
import { createSearch } from '../src/understand/search/service.ts'
import { openEnvironment } from './support/environment.ts'
import { createTenant } from './support/ingestion.ts'
import { table } from './support/measure.ts'

const QUESTIONS = 300
const ROUNDS = [1, 2, 3]
const FIRST = 5

interface Question {
  readonly text: string
  readonly labels: { readonly intent: string }
}

const folder = process.argv[2]
if (folder === undefined) throw new Error('usage: bun bench/search-meaning.ts FOLDER')
const all = readFileSync(join(folder, 'banking77.en.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Question => JSON.parse(line))
await using environment = await openEnvironment(4)
const { sql } = environment
const textWork = createTextWorkHere()
const deps = { sql, reads: sql, clock: systemClock, newId, log: createLog('silent', 'bench') }
const folders = createFolders(deps as Parameters<typeof createFolders>[0])
const search = createSearch({
  ...deps,
  textWork,
  folders,
  conversations: createConversations({ ...deps, folders }),
})
/** Index of the question by the id of its record. */
const questionOf = new Map<string, number>()
const organizations = new Map<number, string>()
for (const round of ROUNDS) organizations.set(round, await store(orderOf(round).slice(QUESTIONS)))
const [, ofFeedback] = createSearchChanges(textWork)
await runDataChange(sql, ofFeedback!, {
  runner: newId(),
  stopping: new AbortController().signal,
  pauseRatio: 0,
})
await sql`vacuum analyze`
const rows: string[][] = []
for (const round of ROUNDS)
  rows.push(await measure(organizations.get(round)!, orderOf(round).slice(0, QUESTIONS)))
console.log(table(['right', 'nothing found', 'all', 'any', 'meaning', 'p50 ms', 'p99 ms'], rows))
process.exit(0)

function orderOf(round: number): readonly number[] {
  return [...shuffled(all.length, createRandom(round))]
}

/** @returns the id of a new organization with these questions */
async function store(numbers: readonly number[]): Promise<string> {
  const { organizationId } = await createTenant(environment)
  const [source] = await sql`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'bench', 'api') returning id`
  const given = numbers.map((n) => ({
    fields: [{ category: 'content', type: 'string', name: 'question', value: all[n]!.text }],
  }))
  const records = await sql<{ id: number }[]>`
    insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
    select ${organizationId}, ${source?.id}::bigint, now(), g.fields
    from json_to_recordset(${JSON.stringify(given)}::text::json) as g (fields jsonb)
    returning id`
  for (const [index, { id }] of records.entries()) questionOf.set(String(id), numbers[index]!)
  return organizationId
}

async function measure(organizationId: string, numbers: readonly number[]): Promise<string[]> {
  const viewer = { kind: 'organization', organizationId } as const
  const ways = { all: 0, any: 0, meaning: 0 }
  const times: number[] = []
  let right = 0
  let nothing = 0
  for (const n of numbers) {
    const { text, labels } = all[n]!
    const started = performance.now()
    const query = [...text].slice(0, 200).join('')
    const { rows: found, match } = await search.search(viewer, { query, limit: FIRST, after: null })
    times.push(performance.now() - started)
    const first = found.slice(0, FIRST)
    if (first.length === 0) nothing++
    else ways[match]++
    if (first.some(({ id }) => all[questionOf.get(id) ?? -1]?.labels.intent === labels.intent)) right++
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(0)
  const shares = [right, nothing, ...Object.values(ways)].map((count) => (count / numbers.length).toFixed(3))
  return [...shares, at(0.5), at(0.99)]
}
