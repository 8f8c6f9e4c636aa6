/**
 * Ingestion over real HTTP, durable before it is answered, beside the same rows inserted by a bare `postgres` client.
 *
 * The bare client is the limit: no HTTP, no validation, no redaction, no hash, no look at what is stored, no message
 * to an actor; one INSERT and one COMMIT per batch, over as many connections as there are HTTP callers. Callers and
 * servers share the cores of this machine.
 */

import type { Sql } from '../src/platform/db/pool.ts'
import { openEnvironment, startService } from './support/environment.ts'
import { CALLERS, createTenant, event, overHttp, type Tenant } from './support/ingestion.ts'
import { type Contestant, compare, inParallel, table } from './support/measure.ts'

const ROUNDS = 3
/** Events a request → events a round: enough for a second or two. */
const SIZES = new Map([
  [1, 4_000],
  [50, 40_000],
  [500, 80_000],
])

export function bareClient(
  sql: Sql,
  { organizationId }: Pick<Tenant, 'organizationId'>,
  size: number,
): Contestant {
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
