/**
 * Themes: how well the grouping agrees with labelled topics in two orders of arrival, and how many items a second one core assigns.
 *
 * The throughput is that of an organization with `BENCH_ITEMS` items, on a real PostgreSQL: with prepared vectors, and with the embedding of a sample.
 */

import { loadEmbed, packVector } from '../src/analysis/analyze/builtin/vectors/vectors.ts'
import { connect, type Sql } from '../src/platform/db/pool.ts'
import { unpacked } from '../src/understand/themes/vector.rules.ts'
import { cpuOfSelf } from './support/cpu.ts'
import { openEnvironment } from './support/environment.ts'
import { kMeans } from './support/k-means.ts'
import { table } from './support/measure.ts'
import { readReviews } from './support/theme-reviews.ts'
import { groupItems } from './support/theme-run.ts'
import { adjustedRand, purity, readThemeSet, shuffled } from './support/theme-set.ts'
import { loadFindings, prepareTopics, runTurns } from './support/theme-turns.ts'

const LABELLED = 1_500
const ITEMS = Number(process.env.BENCH_ITEMS ?? 100_000)
/** More topics than an organization may have themes. */
const TOPICS = 1_200

export async function benchThemes(): Promise<void> {
  const folder = process.env.BENCH_PUBLIC
  if (folder !== undefined) await benchReviews(folder)
  const embeddingMs = await benchQuality()
  await benchThroughput(embeddingMs)
}

/** Reviews of apps that were grouped by hand, where `BENCH_PUBLIC` is a folder of the public sources; beside k-means, which is told the number of groups. */
async function benchReviews(folder: string): Promise<void> {
  const set = readReviews(folder)
  const embed = await loadEmbed()
  const items = set.map((item) => ({ ...item, vector: unpacked(packVector(embed(item.text))) }))
  const topics = set.map(({ topic }) => topic)
  const count = new Set(topics).size
  const groupings = [
    ['product', await groupItems(items)],
    [
      'k-means over TF-IDF',
      kMeans(
        set.map(({ text }) => text),
        count,
      ),
    ],
  ] as const
  console.log(`\n${set.length} reviews of ${count} problems, grouped by hand\n`)
  console.log(
    table(
      ['', 'groups', 'covered', 'purity', 'adjusted Rand index'],
      groupings.map(([name, groups]) => {
        const covered = groups.filter((group) => group !== null)
        return [
          name,
          String(new Set(covered).size),
          (covered.length / groups.length).toFixed(3),
          purity(groups, topics).toFixed(3),
          adjustedRand(groups, topics).toFixed(3),
        ]
      }),
    ),
  )
}

/** @returns milliseconds of CPU to embed one item */
async function benchQuality(): Promise<number> {
  const set = readThemeSet(LABELLED)
  const embed = await loadEmbed()
  const cpu = cpuOfSelf()
  const vectors = set.map(({ text }) => packVector(embed(text)))
  const embeddingMs = (cpuOfSelf() - cpu) / set.length
  const items = set.map((item, n) => ({ ...item, vector: unpacked(vectors[n]!) }))
  const topics = items.map(({ topic }) => topic)
  const rows: string[][] = []
  const results: (readonly (string | null)[])[] = []
  for (const seed of [1, 2]) {
    const order = shuffled([...items.keys()], seed)
    const grouped = await groupItems(order.map((n) => items[n]!))
    const groups: (string | null)[] = items.map(() => null)
    for (const [place, n] of order.entries()) groups[n] = grouped[place] ?? null
    results.push(groups)
    const covered = groups.filter((group) => group !== null)
    rows.push([
      `order ${seed}`,
      String(new Set(covered).size),
      (covered.length / groups.length).toFixed(3),
      purity(groups, topics).toFixed(3),
      adjustedRand(groups, topics).toFixed(3),
    ])
  }
  console.log(`\n${LABELLED} items of ${new Set(topics).size} topics\n`)
  console.log(table(['', 'themes', 'covered', 'purity', 'adjusted Rand index'], rows))
  console.log(`Adjusted Rand index of the two orders: ${adjustedRand(results[0]!, results[1]!).toFixed(3)}`)
  return embeddingMs
}

async function benchThroughput(embeddingMs: number): Promise<void> {
  await using environment = await openEnvironment(1)
  const sql = connect(
    { url: environment.databaseUrl },
    { max: 2, applicationName: 'bench', statementTimeoutMs: null },
  )
  const organizationId = await createOrganization(sql)
  const prepared = prepareTopics(TOPICS)
  await loadFindings(sql, organizationId, prepared, ITEMS)
  await sql`vacuum analyze`
  const result = await runTurns(sql, organizationId, prepared.textWork)
  const each = result.milliseconds / result.items
  console.log(
    `\n${result.items} items of an organization, ${result.themes} themes, ${result.pool} items in the pool\n`,
  )
  const line = (name: string, ms: number) => [name, ms.toFixed(2), (1_000 / ms).toFixed(0)]
  console.log(
    table(
      ['CPU', 'ms an item', 'items a second and core'],
      [
        line('turns with prepared vectors', result.cpuMs),
        line('embedding', embeddingMs),
        line('both', result.cpuMs + embeddingMs),
      ],
    ),
  )
  console.log(
    `elapsed: ${each.toFixed(2)} ms an item with prepared vectors, with the time of PostgreSQL and of other programs`,
  )
  console.log(
    `slowest turn: ${result.slowestMs.toFixed(0)} ms; longest time without a pause: ${result.blockedMs.toFixed(0)} ms`,
  )
  await sql.end({ timeout: 5 })
}

async function createOrganization(sql: Sql): Promise<string> {
  const id = Bun.randomUUIDv7()
  await sql`insert into organization (id, name) values (${id}, 'bench')`
  return id
}

if (import.meta.main) {
  await benchThemes()
  process.exit(0)
}
