/**
 * The smallest machine for each kind of start: the executable in a control group with less and less memory, under load, until it no longer
 * holds. Its pages count in the group, as in a container. The callers and a database elsewhere are outside.
 *
 * A start holds if the system ends no process of it, every request of conversations is accepted, and everything is processed. Media is tried
 * apart: one recording of half an hour, which is examined and encoded.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openEnvironment, startService } from './support/environment.ts'
import { createTenant, event } from './support/ingestion.ts'
import { makeRecording, processRecording } from './support/long-recording.ts'
import { inParallel, table } from './support/measure.ts'
import { createMemoryGroup } from './support/memory-group.ts'

const PROGRAM = process.env.BENCH_EXECUTABLE ?? resolve(import.meta.dir, '../dist/earshot')
const [SESSIONS, CALLERS] = [Number(process.env.BENCH_SESSIONS ?? 400), 8]
const [START_MS, PROCESS_MS, POLL_MS] = [60_000, 120_000, 250]
const MEDIA_MS = 3_600_000
/** The second pass and the index of the search come after a conversation is processed. */
const AFTER_MS = 15_000
const SIZES = [1_024, 768, 640, 512, 448, 384, 320, 256, 192]

interface Tenant {
  readonly agentKey?: string
  readonly agentSecret: string
  readonly apiKey: string
}

interface Kind {
  readonly name: string
  readonly sizes: readonly number[]
  readonly variables: Readonly<Record<string, string>>
  readonly tenant: (dataDir: string) => Tenant
  readonly processes: boolean
  /** The address of another process that takes the requests. */
  readonly entrance?: string
  /** The path of a recording, which comes instead of conversations. */
  readonly recording?: string
}

interface Outcome {
  readonly holds: boolean
  readonly words: string
}

/** `BENCH_KINDS='embedded'` selects kinds by a part of their name, `BENCH_SIZES=512,384` sizes in MiB. */
export async function benchSmall(): Promise<void> {
  if (!existsSync(PROGRAM)) throw new Error(`build ${PROGRAM} first: bun run build`)
  await using environment = await openEnvironment(4)
  await using entrance = await startService(environment, { ROLE: 'api' })
  const scratch = mkdtempSync(join(tmpdir(), 'earshot-bench-recording-'))
  const chosenName = process.env.BENCH_KINDS ?? ''
  const tenant = await createTenant(environment)
  const elsewhere = { DATABASE_URL: environment.databaseUrl, REDIS_URL: environment.redisUrl }
  const embedded = {
    name: 'everything, embedded PostgreSQL and Redis',
    sizes: SIZES.filter((size) => size >= 384),
    variables: {},
    tenant: (dataDir: string) =>
      JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as Tenant,
    processes: true,
  }
  const withRecording = `${embedded.name}, a recording`
  const kinds: readonly Kind[] = [
    embedded,
    {
      name: 'everything, database elsewhere',
      sizes: SIZES.filter((size) => size <= 512),
      variables: elsewhere,
      tenant: () => tenant,
      processes: true,
    },
    {
      name: '`ROLE=api`, database elsewhere',
      sizes: SIZES.filter((size) => size <= 320),
      variables: { ...elsewhere, ROLE: 'api' },
      tenant: () => tenant,
      processes: false,
    },
    {
      name: '`ROLE=worker`, database elsewhere',
      sizes: SIZES.filter((size) => size <= 384),
      variables: { ...elsewhere, ROLE: 'worker' },
      tenant: () => tenant,
      processes: true,
      entrance: entrance.baseUrl,
    },
    {
      ...embedded,
      name: withRecording,
      sizes: SIZES.filter((size) => size <= 512 && size >= 384),
      ...(withRecording.includes(chosenName) ? { recording: makeRecording(scratch) } : {}),
    },
  ]
  const chosen = process.env.BENCH_SIZES?.split(',').map(Number)
  const rows: string[][] = []
  for (const kind of kinds.filter(({ name }) => name.includes(chosenName))) {
    for (const size of chosen ?? kind.sizes) {
      const { holds, words } = await attempt(kind, size)
      rows.push([kind.name, `${size} MiB`, holds ? 'holds' : 'does not hold', words])
      console.error(rows.at(-1)?.join(' · '))
      if (!holds) break
    }
  }
  rmSync(scratch, { recursive: true })
  console.log(
    `\n${SESSIONS} conversations of six messages, ${CALLERS} callers, or one recording of half an hour, in a control group\n`,
  )
  console.log(table(['start', 'memory', '', 'what was seen'], rows))
}

async function attempt(kind: Kind, mebibytes: number): Promise<Outcome> {
  const { variables, tenant } = kind
  const folder = mkdtempSync(join(tmpdir(), 'earshot-bench-small-'))
  const data = join(folder, 'data')
  await using group = createMemoryGroup(mebibytes)
  const child = Bun.spawn([...group.wrap(PROGRAM, data, ['serve'])], {
    env: {
      PATH: process.env.PATH ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'error',
      DATA_DIR: data,
      DRAIN_SECONDS: '0',
      RATE_LIMIT_WRITES: '0',
      RATE_LIMIT_READS: '0',
      ...variables,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  try {
    const started = performance.now()
    const baseUrl = await addressOf(child.stdout, started + START_MS)
    if (baseUrl === null) return { holds: false, words: `not ready in ${START_MS / 1_000} s` }
    const startMs = performance.now() - started
    const credentials = tenant(data)
    const seen = await tryOut(kind, kind.entrance ?? baseUrl, credentials)
    await Bun.sleep(AFTER_MS)
    const killed = group.killed()
    const words = [
      `ready in ${(startMs / 1_000).toFixed(0)} s`,
      seen.words,
      ...(killed === 0 ? [] : [`${killed} processes ended by the system`]),
    ]
    return { holds: killed === 0 && seen.holds, words: words.join('; ') }
  } finally {
    child.kill('SIGTERM')
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tryOut({ recording, processes }: Kind, baseUrl: string, tenant: Tenant): Promise<Outcome> {
  const started = performance.now()
  const seconds = () => ((performance.now() - started) / 1_000).toFixed(0)
  if (recording !== undefined) {
    const status = await processRecording(baseUrl, tenant.apiKey, recording, MEDIA_MS)
    return { holds: status === 'completed', words: `the recording is ${status} after ${seconds()} s` }
  }
  const load = await sendAll(baseUrl, tenant)
  const drained = !processes || (await isProcessed(baseUrl, tenant))
  const words = [
    `${load.accepted} of ${SESSIONS} accepted, the slowest in ${(load.slowestMs / 1_000).toFixed(1)} s`,
    ...(processes ? [drained ? `all processed after ${seconds()} s` : 'not all processed'] : []),
  ]
  return { holds: drained && load.accepted === SESSIONS, words: words.join('; ') }
}

/** Null if it is not ready by then. */
async function addressOf(stdout: ReadableStream<Uint8Array>, deadline: number): Promise<string | null> {
  let output = ''
  void (async () => {
    for await (const chunk of stdout) output += new TextDecoder().decode(chunk)
  })()
  while (performance.now() < deadline) {
    const port = /\bhttps?:\/\/[^\s/"]+:(\d+)/.exec(output)?.[1]
    const ready = port === undefined ? null : await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null)
    if (ready?.ok) return `http://127.0.0.1:${port}`
    await Bun.sleep(POLL_MS)
  }
  return null
}

async function sendAll(baseUrl: string, { agentKey = 'bench', agentSecret }: Tenant) {
  let [accepted, slowestMs] = [0, 0]
  await inParallel(SESSIONS, CALLERS, async () => {
    const started = performance.now()
    const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
      body: JSON.stringify({
        agentKey,
        externalSessionId: Bun.randomUUIDv7(),
        status: 'ended',
        events: Array.from({ length: 6 }, (_, index) => event(index + 1)),
      }),
    }).catch(() => null)
    await response?.arrayBuffer().catch(() => null)
    slowestMs = Math.max(slowestMs, performance.now() - started)
    if (response?.ok) accepted += 1
  })
  return { accepted, slowestMs }
}

/** Whether no conversation waits for its analysis in time. */
async function isProcessed(baseUrl: string, { apiKey }: Tenant): Promise<boolean> {
  const deadline = performance.now() + PROCESS_MS
  const url = `${baseUrl}/v3/rest/agent-conversations/sessions?limit=1&processingStatus=pending`
  while (performance.now() < deadline) {
    const response = await fetch(url, { headers: { 'x-service-api-key': apiKey } }).catch(() => null)
    const page = response?.ok ? ((await response.json()) as { readonly data: readonly unknown[] }) : null
    if (page?.data.length === 0) return true
    await Bun.sleep(POLL_MS)
  }
  return false
}

if (import.meta.main) {
  await benchSmall()
  process.exit(0)
}
