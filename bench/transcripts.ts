/**
 * The largest usual transcript, 10,000 utterances, written and read, compared with a bare `postgres` client in the same run.
 *
 * Writing is compared with COPY of the same rows, the fastest way into PostgreSQL, in separate transactions.
 * Reading is compared with the bare rows, before conversion to JSON. Over HTTP the request is parsed, validated, stored
 * with its recording and answered by the service, another process on the same cores. It runs no workers, because indexing of
 * one transcript would count toward the next.
 */

import { loadConfig } from '../src/app/config.ts'
import { createContainer } from '../src/app/container.ts'
import { createFeatures } from '../src/app/features.ts'
import { createTranscripts, type Utterance, writeTranscript } from '../src/calls/transcripts/service.ts'
import type { Sql } from '../src/platform/db/pool.ts'
import { transaction } from '../src/platform/db/transaction.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { type Contestant, compare, type Rate, table } from './support/measure.ts'

const UTTERANCES = 10_000
const ROUNDS = 5
/** Transcripts in a round. */
const AMOUNT = 10

interface Tenant {
  readonly organizationId: string
  readonly apiKey: string
}

const TEXT =
  'The report that I get every Monday has shown last week’s numbers since the update, and nobody knows why. '

/** Speech of two people, partly with characters that COPY and JSON must escape. */
const transcript: readonly Utterance[] = Array.from({ length: UTTERANCES }, (_, index) => ({
  startSec: index * 2.31,
  endSec: index * 2.31 + 2.3,
  speaker: index % 2,
  text: index % 50 === 0 ? `${TEXT}"Really?"\n` : TEXT,
}))

async function createTenant({ databaseUrl }: Environment): Promise<Tenant> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity } = createFeatures(container)
    const { id: organizationId } = await identity.createOrganization('bench')
    const { apiKey } = await identity.createApiKey(organizationId, 'bench')
    return { organizationId, apiKey }
  } finally {
    await container.close()
  }
}

/** Runs `task` this many times in sequence. */
const repeat = (name: string, task: () => Promise<unknown>): Contestant => ({
  name,
  async run(amount) {
    for (let index = 0; index < amount; index++) await task()
  },
})

function writers(sql: Sql, baseUrl: string, { organizationId, apiKey }: Tenant): readonly Contestant[] {
  const body = JSON.stringify({ transcript, summary: 'Given, so that no worker makes one.' })
  return [
    repeat('bare COPY', () => copy(sql, organizationId)),
    repeat('writeTranscript', () =>
      transaction(sql, (tx) => writeTranscript(tx, organizationId, Bun.randomUUIDv7(), transcript)),
    ),
    repeat('POST /recordings', async () => {
      const response = await fetch(`${baseUrl}/v3/rest/recordings`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-api-key': apiKey },
        body,
      })
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    }),
  ]
}

/** Prepares the COPY lines, so that only the server's work is measured. */
async function copy(sql: Sql, organizationId: string): Promise<void> {
  const recordingId = Bun.randomUUIDv7()
  const rows = transcript.map(({ startSec, endSec, speaker, text }, ordinal) => {
    const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
    return `${organizationId}\t${recordingId}\t${ordinal}\t${startSec}\t${endSec}\t${speaker}\t${escaped}\n`
  })
  await sql.begin(async (tx) => {
    const stream = await tx`
      copy transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
      from stdin`.writable()
    const written = new Promise<void>((resolve, reject) => {
      stream.on('finish', resolve).on('error', reject)
    })
    stream.end(rows.join(''))
    await written
  })
}

async function readers(
  sql: Sql,
  baseUrl: string,
  { organizationId, apiKey }: Tenant,
): Promise<readonly Contestant[]> {
  const headers = { 'x-service-api-key': apiKey }
  const response = await fetch(`${baseUrl}/v3/rest/recordings`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ transcript }),
  })
  const { id } = (await response.json()) as { id: string }
  const transcripts = createTranscripts({ reads: sql })
  return [
    repeat(
      'raw query',
      () => sql`
      select start_sec, end_sec, speaker, text
      from transcript_utterance
      where organization_id = ${organizationId}
        and recording_id = ${id}
      order by ordinal`,
    ),
    repeat('read and JSON', async () => {
      const entries = await transcripts.read(organizationId, id, 'utterance')
      return JSON.stringify(entries.map((entry) => ({ recordingId: id, ...entry })))
    }),
    repeat('GET …/transcript', async () => {
      const answer = await fetch(`${baseUrl}/v3/rest/recordings/${id}/transcript`, { headers })
      return answer.arrayBuffer()
    }),
  ]
}

/** Measures writing and reading and prints one table each. */
export async function benchTranscripts(): Promise<void> {
  await using environment = await openEnvironment(4)
  const tenant = await createTenant(environment)
  await using service = await startService(environment, { ROLE: 'api' })
  const { sql } = environment
  const written = await compare(writers(sql, service.baseUrl, tenant), AMOUNT, ROUNDS)
  await sql`vacuum analyze transcript_utterance`
  const read = await compare(await readers(sql, service.baseUrl, tenant), AMOUNT, ROUNDS)
  console.log(`Transcripts of ${UTTERANCES} utterances, one caller (median of ${ROUNDS} rounds), fsync on\n`)
  console.log(`${times('write', written)}\n\n${times('read', read)}\n`)
}

/** Milliseconds for one, and the ratio to the first row. */
function times(what: string, rates: readonly Rate[]): string {
  const milliseconds = (rate: number) => 1000 / rate
  const [first] = rates
  return table(
    [what, 'ms', 'fastest – slowest', 'times the first'],
    rates.map(({ name, median, rates: sorted }) => [
      name,
      milliseconds(median).toFixed(1),
      `${milliseconds(sorted.at(-1) ?? 0).toFixed(1)} – ${milliseconds(sorted[0] ?? 0).toFixed(1)}`,
      ((first?.median ?? Number.NaN) / median).toFixed(2),
    ]),
  )
}
