/**
 * Website forms and feedback records over real HTTP, durable before the response, compared with plain Elysia routes that make the
 * same inserts.
 *
 * The plain routes run in a child process, too, with the same driver, number of connections and database. The difference
 * is the work of the service beyond inserting: credentials, validation, the order of failures, the notifier.
 * The service runs no workers, so that sending mail does not count.
 */
import { loadConfig } from '../src/app/config.ts'
import { createContainer } from '../src/app/container.ts'
import { createFeatures } from '../src/app/features.ts'
import { type Environment, openEnvironment, startProgram, startService } from './support/environment.ts'
import { type Contestant, compare, inParallel, table } from './support/measure.ts'

const CALLERS = 16
const ROUNDS = 5
/** Requests per round: a second or two. */
const AMOUNT = 4_000

interface Tenant {
  readonly organizationId: string
  readonly apiKey: string
  readonly sourceId: number
}

async function createTenant({ databaseUrl }: Environment): Promise<Tenant> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity } = createFeatures(container)
    const { id: organizationId } = await identity.createOrganization('bench')
    const { apiKey } = await identity.createApiKey(organizationId, 'bench')
    const [source] = await container.sql<{ id: number }[]>`
      insert into feedback_source (organization_id, name, type) values (${organizationId}, 'bench', 'api')
      returning id`
    return { organizationId, apiKey, sourceId: source!.id }
  } finally {
    await container.close()
  }
}

const TEXT = 'The report that I get every Monday has shown last week’s numbers since the update. '

const submission = () => ({
  name: 'Ada Lovelace',
  email: `${Bun.randomUUIDv7()}@example.com`,
  inquiryType: 'support',
  company: 'Example Ltd',
  message: TEXT.repeat(3),
})

const record = () => ({
  external_id: Bun.randomUUIDv7(),
  display_ts: '2026-01-02T09:00:00Z',
  fields: [
    { category: 'content', type: 'string', name: 'comment', value: TEXT.repeat(3) },
    { category: 'metadata', type: 'integer', name: 'score', value: 7 },
    { category: 'metadata', type: 'json', name: 'tags', value: ['export', 'speed'] },
    { category: 'created_at', type: 'datetime', name: 'received_at', value: '2026-01-02T09:00:00Z' },
  ],
})

/** Every caller sends its requests in sequence. */
function posting(
  name: string,
  url: string,
  body: () => unknown,
  headers: Record<string, string> = {},
): Contestant {
  const post = async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body()),
    })
    if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  return { name, run: (amount) => inParallel(amount, CALLERS, post) }
}

/** Measures both and prints one table. */
export async function benchHttp(): Promise<void> {
  await using environment = await openEnvironment(2)
  const { organizationId, apiKey, sourceId } = await createTenant(environment)
  await using bare = await startProgram('bench/support/bare-elysia.ts', environment)
  await using service = await startService(environment, { ROLE: 'api', TEAM_EMAIL: 'team@example.com' })
  const recordPath = `/organizations/${organizationId}/sources/${sourceId}/records`
  const key = { 'x-service-api-key': apiKey }
  const pairs: readonly (readonly [string, Contestant, Contestant])[] = [
    [
      'POST /api/contact',
      posting('Earshot', `${service.baseUrl}/api/contact`, submission),
      posting('Elysia', `${bare.baseUrl}/contact`, submission),
    ],
    [
      'POST /v3/rest/feedback-sources/{id}/records',
      posting('Earshot', `${service.baseUrl}/v3/rest/feedback-sources/${sourceId}/records`, record, key),
      posting('Elysia', `${bare.baseUrl}${recordPath}`, record),
    ],
  ]
  const rows: string[][] = []
  for (const [title, ours, theirs] of pairs) {
    const [earshot, elysia] = await compare([ours, theirs], AMOUNT, ROUNDS)
    if (earshot === undefined || elysia === undefined) throw new Error('nothing was measured')
    const spread = `${Math.round(earshot.rates[0] ?? 0)} – ${Math.round(earshot.rates.at(-1) ?? 0)}`
    const ratio = (earshot.median / elysia.median).toFixed(2)
    rows.push([title, String(Math.round(earshot.median)), spread, String(Math.round(elysia.median)), ratio])
  }
  console.log(
    `Forms and feedback, ${CALLERS} callers, requests a second (median of ${ROUNDS} rounds), fsync on\n`,
  )
  console.log(table(['', 'Earshot', 'lowest – highest', 'bare Elysia', 'ratio'], rows))
}
