/**
 * Ingestion over real HTTP, durable before it is answered, beside the same rows inserted by a bare `postgres` client.
 *
 * The bare client is the limit: no HTTP, no validation, no redaction, no hash, no look at what is stored, no message
 * to an actor; one INSERT and one COMMIT per batch, over as many connections as there are HTTP callers. Callers and
 * servers share the cores of this machine.
 */

import { loadConfig } from '../src/config.ts'
import { createContainer } from '../src/container.ts'
import { createFeatures } from '../src/features.ts'
import type { Sql } from '../src/platform/db/pool.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { type Contestant, compare, inParallel, table } from './support/measure.ts'

const CALLERS = 16
const ROUNDS = 3
/** Events a request → events a round: enough for a second or two. */
const SIZES = new Map([
  [1, 4_000],
  [50, 40_000],
  [500, 80_000],
])

interface Credentials {
  readonly organizationId: string
  readonly agentSecret: string
}

async function createTenant(environment: Environment): Promise<Credentials> {
  const config = loadConfig({ DATABASE_URL: environment.databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(
    config,
    { database: { url: environment.databaseUrl }, redis: null },
    'bench',
  )
  try {
    const { identity, applications } = createFeatures(container)
    const organization = await identity.createOrganization('bench')
    const application = await applications.create(organization.id, { agentKey: 'bench', name: 'bench' })
    const { agentSecret } = await identity.createSecret(organization.id, application.id)
    return { organizationId: organization.id, agentSecret }
  } finally {
    await container.close()
  }
}

const TEXT = 'The report that I get every Monday has shown last week’s numbers since the update. '

function event(sequence: number) {
  const isUser = sequence % 2 === 1
  return {
    externalEventId: `event-${sequence}`,
    sequence,
    revision: 1,
    occurredAt: '2026-01-02T09:00:00.000Z',
    type: isUser ? 'user_message' : 'assistant_message',
    final: true,
    content: TEXT.repeat(3),
    ...(isUser
      ? {}
      : {
          model: { provider: 'example', name: 'assistant-1' },
          usage: { inputTokens: 512, outputTokens: 80 },
        }),
  }
}

/** Every caller sends its own conversations, one request after the other; a new one after 1,000 events. */
function overHttp(baseUrl: string, { agentSecret }: Credentials, size: number): Contestant {
  const send = async (session: string, first: number) => {
    const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
      body: JSON.stringify({
        agentKey: 'bench',
        externalSessionId: session,
        events: Array.from({ length: size }, (_, offset) => event(first + offset)),
      }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  return {
    name: 'Earshot over HTTP',
    async run(amount) {
      const requests = amount / size / CALLERS
      await inParallel(CALLERS, CALLERS, async () => {
        let session = ''
        for (let request = 0; request < requests; request++) {
          const position = (request * size) % 1000
          if (position === 0) session = Bun.randomUUIDv7()
          await send(session, position + 1)
        }
      })
    },
  }
}

function bareClient(sql: Sql, { organizationId }: Credentials, size: number): Contestant {
  const fingerprint = Buffer.alloc(32, 7)
  return {
    name: 'bare client',
    async run(amount) {
      await inParallel(amount / size, CALLERS, async () => {
        const session = Bun.randomUUIDv7()
        const rows = Array.from({ length: size }, (_, offset) => {
          const { externalEventId, sequence, revision, occurredAt, type, final, ...body } = event(offset + 1)
          return {
            organization_id: organizationId,
            session_id: session,
            external_event_id: externalEventId,
            sequence,
            revision,
            type,
            final,
            occurred_at: occurredAt,
            body,
            fingerprint,
            settings_version: 1,
          }
        })
        await sql`insert into agent_event ${sql(rows)}`
      })
    },
  }
}

/** Measures every request size and prints one table. */
export async function benchIngest(): Promise<void> {
  await using environment = await openEnvironment(CALLERS)
  const tenant = await createTenant(environment)
  await using service = await startService(environment, { ROLE: process.env.BENCH_ROLE ?? 'all' })
  const rows: string[][] = []
  for (const [size, amount] of SIZES) {
    const [http, bare] = await compare(
      [overHttp(service.baseUrl, tenant, size), bareClient(environment.sql, tenant, size)],
      amount,
      ROUNDS,
    )
    if (http === undefined || bare === undefined) throw new Error('nothing was measured')
    const spread = `${Math.round(http.rates[0] ?? 0)} – ${Math.round(http.rates.at(-1) ?? 0)}`
    rows.push([
      String(size),
      String(Math.round(http.median)),
      spread,
      String(Math.round(bare.median)),
      (http.median / bare.median).toFixed(2),
    ])
  }
  console.log(`Ingestion, ${CALLERS} callers, events a second (median of ${ROUNDS} rounds), fsync on\n`)
  console.log(
    table(['events a request', 'Earshot over HTTP', 'lowest – highest', 'bare client', 'ratio'], rows),
  )
}
