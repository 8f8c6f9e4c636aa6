/**
 * One organization floods the service while another uses it. What the second sends is done before what the first has sent earlier, and
 * none of its messages is blamed for the death of a worker.
 *
 * That is counted, not timed: a fair turn leaves older messages of the other organization waiting, and films in hand.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { send } from '../../src/actors/mailbox.ts'
import { media, picture, tone } from '../media/support/ffmpeg.ts'
import { slowFfmpeg } from '../media/support/slow.ts'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  INGEST,
  openAgent,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { wav } from '../support/media.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { openRequest, type RawRequest } from '../support/raw-request.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { rounds } from '../support/rounds.ts'
import { type Client, clientOf, startTestServer, type TestServer } from '../support/server.ts'
import { createUpload } from '../support/uploads.ts'

setDefaultTimeout(300_000)

/** Conversations of the quiet organization. */
const ROUNDS = rounds(2, 4)
/** Requests that send all of their body but the last byte: more than `MAX_BODIES_MB`, then more than what may be left of it. */
const UNFINISHED = [
  { count: 12, bytes: 1_900_000 },
  { count: 45, bytes: 200_000 },
] as const
/** A slow body counts after a second. Batches that fill the budget of all bodies at most. */
const [COUNTED_MS, MOST_BATCHES] = [3_000, 10]
/** Waiting messages of the noisy organization when the other begins, and its concurrent requests. */
const [BACKLOG, REQUESTS] = rounds(
  [{ session: 10_000, analysis: 1_000 }, 3],
  [{ session: 30_000, analysis: 3_000 }, 8],
)

describe.each(['redis', 'postgres'] as const)('with the notifier on %s', (notifier) => {
  let programs: string
  let redis: PrivateRedis | null = null
  /** A database and its tenants, without workers and callers. */
  let server: TestServer
  let service: Service
  let quiet: Agent
  let noisy: Agent
  let caller: Client

  afterAll(async () => {
    await service?.kill()
    await redis?.stop()
    await server?.stop()
    rmSync(programs, { recursive: true, force: true })
  })
  // Registered later, because it checks for remains after the service has ended.
  const services = useServices()

  beforeAll(async () => {
    programs = mkdtempSync(join(tmpdir(), 'earshot-programs-'))
    redis = notifier === 'redis' ? await startPrivateRedis() : null
    server = await startTestServer(redis === null ? {} : { redis: redis.url })
    await server.database.sql`create table death (organization_id uuid not null)`
    await server.database.sql.unsafe(`
      create function note_death() returns trigger language plpgsql as
        'begin insert into death values (new.organization_id); return null; end';
      create trigger note_death after update of deaths on actor_message
        for each row when (new.deaths > old.deaths) execute function note_death();`)
    const limits = ['READS', 'WRITES', 'AGENT_INGEST', 'FAILED_AUTHENTICATION']
    service = await services.start({
      env: {
        DATABASE_URL: server.database.url,
        ...(redis === null ? {} : { REDIS_URL: redis.url }),
        FFMPEG_PATH: slowFfmpeg(programs, 0.01),
        WORKER_THREADS: '2',
        MAX_BODIES_MB: '16',
        LOG_LEVEL: 'error',
        ...Object.fromEntries(limits.map((name) => [`RATE_LIMIT_${name}`, '0'])),
      },
    })
    quiet = await openAgent(server)
    noisy = await openAgent(server)
    caller = clientOf(service.baseUrl, { apiKey: quiet.tenant.apiKey })
  })
  /** A separate conversation with negative feedback on an answer. */
  const conversation = (agent: Agent, text?: string) =>
    agent.request(
      [userMessage(1, text === undefined ? {} : { content: text }), assistantMessage(2), feedbackOn('a2', 3)],
      { externalSessionId: crypto.randomUUID(), status: 'ended' },
    )
  const ingest = (agent: Agent, body: unknown) =>
    clientOf(service.baseUrl, { agentSecret: agent.agentSecret }).post(INGEST, body)

  /** Messages to sessions of the noisy organization that were sent before this moment. */
  async function olderThan(moment: string): Promise<number> {
    const { sql } = server.database
    const [row] = await sql<{ count: number }[]>`
      select count(*) from actor_message
      where organization_id = ${noisy.organizationId} and key like 'session:%'
        and available_at < ${moment}::text::timestamptz`
    return row?.count ?? 0
  }

  /** Sends conversations one after the other, each until its signal exists. @returns what the first one has overtaken */
  async function expectSignals(): Promise<number> {
    const overtaken: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const [now] = await server.database.sql<{ at: string }[]>`select now()::text as at`
      const answer = await ingest(quiet, conversation(quiet))
      expect(answer.status).toBe(200)
      const path = `/v3/rest/signals?sessionId=${answer.body.sessionId}`
      await eventually(async () => (await caller.get(path)).body.data.length > 0)
      overtaken.push(await olderThan(now?.at ?? ''))
    }
    return overtaken[0] ?? 0
  }

  /** Audio that every browser plays, from the first byte until it is ready. */
  async function expectUpload(): Promise<void> {
    const bytes = wav(1)
    const upload = await createUpload(service.baseUrl, quiet.tenant.apiKey, { fileSize: bytes.byteLength })
    await fetch(upload.uploadUrl, { method: 'PUT', body: bytes })
    const path = `${RECORDINGS}/${upload.recordingId}/uploads/${upload.uploadId}`
    const phase = await eventually(async () => {
      const { phase } = (await caller.get(path)).body
      return ['ready', 'failed'].includes(phase) && phase
    })
    expect(phase).toBe('ready')
  }

  /** One is refused: there is no room for more of this size. */
  async function expectRefusal(requests: readonly RawRequest[]): Promise<void> {
    const refused = requests.map(async ({ response }) => expect((await response)?.status).toBe(503))
    await Promise.any(refused)
  }

  async function expectNobodyBlamed(): Promise<void> {
    const { sql } = server.database
    expect([...(await sql`select * from death where organization_id = ${quiet.organizationId}`)]).toEqual([])
    const deadLetters = await sql`
      select * from actor_dead_letter where organization_id = ${quiet.organizationId}`
    expect([...deadLetters]).toEqual([])
  }

  /** Runs `work` while the noisy organization has this many concurrent requests. */
  async function beside(flood: () => Promise<unknown>, work: () => Promise<void>): Promise<void> {
    let isOver = false
    const clients = Array.from({ length: REQUESTS }, async () => {
      while (!isOver) await flood()
    })
    try {
      await work()
    } finally {
      isOver = true
      await Promise.all(clients)
    }
  }

  const waiting = async () => {
    const { sql } = server.database
    const [row] = await sql<{ count: number }[]>`
      select count(*) from actor_message where organization_id = ${noisy.organizationId}`
    return row?.count ?? 0
  }
  /** Messages to sessions and analyses that do not exist, as many as after a large import. */
  async function backlog(kind: 'session' | 'analysis', type: string): Promise<void> {
    const { organizationId } = noisy
    for (let first = 0; first < BACKLOG[kind]; first += 1_000) {
      const newMessages = Array.from({ length: 1_000 }, () => {
        return { key: `${kind}:${crypto.randomUUID()}` as const, type, organizationId }
      })
      server.deps.notifier.notify(await send(server.database.sql, newMessages))
    }
  }

  test('thousands of conversations: sessions, analysis, and hard texts', async () => {
    const hard = ['http://a.b/'.repeat(1_800), btoa('a'.repeat(14_000)), 'Why does this not work?']
    let count = 0
    // Workers handle thousands in a second, so they stand still until all of them are there.
    await service.kill('SIGSTOP')
    try {
      await backlog('session', 'events_stored')
      await backlog('analysis', 'analyze')
    } finally {
      await service.kill('SIGCONT')
    }
    await beside(
      () => ingest(noisy, conversation(noisy, hard[count++ % hard.length])),
      async () => {
        const [overtaken] = await Promise.all([expectSignals(), expectUpload()])
        expect(overtaken).toBeGreaterThan(0)
      },
    )
    await expectNobodyBlamed()
  })

  // What follows does not depend on who wakes the workers.
  if (notifier === 'postgres') return

  test('films that take hours to encode', async () => {
    const film = media('mov', ...picture('160x120', 60, 2), ...tone(60), '-c:v', 'mjpeg', '-c:a', 'pcm_s16le')
    for (let number = 0; number < 12; number++) {
      const upload = await createUpload(service.baseUrl, noisy.tenant.apiKey, { fileSize: film.byteLength })
      expect((await fetch(upload.uploadUrl, { method: 'PUT', body: film })).ok).toBe(true)
    }
    const inHand = async () => {
      const { sql } = server.database
      return (
        await sql`select from actor_mailbox where organization_id = ${noisy.organizationId} and key like 'recording:%' and owner is not null`
      ).length
    }
    await eventually(async () => (await inHand()) === 4, { deadlineMs: 60_000 })
    await Promise.all([expectSignals(), expectUpload().then(expectUpload)])
    expect(await inHand()).toBe(4)
    expect(await waiting()).toBeGreaterThanOrEqual(12)
    await expectNobodyBlamed()
  })

  test('slow bodies and large bodies', async () => {
    const url = `${service.baseUrl}${INGEST}`
    const headers = { 'content-type': 'application/json', 'x-service-agent-key': noisy.agentSecret }
    const open = (bytes: number) => openRequest('POST', url, { ...headers, 'content-length': String(bytes) })
    // More than the budget of all bodies, then smaller ones that fill what is left of it. Without a share for each caller, nothing of
    // anybody else would fit.
    const unfinished: RawRequest[] = []
    for (const { count, bytes } of UNFINISHED) {
      const some = Array.from({ length: count }, () => open(bytes))
      unfinished.push(...some)
      const body = Buffer.alloc(bytes - 1, ' ')
      await Promise.all(some.map((request) => request.write(body)))
      await expectRefusal(some)
    }
    const slow: RawRequest[] = []
    const drip = () => Promise.all(slow.map((request) => request.write(Buffer.from(' '))))
    const dripping = setInterval(() => void drip(), 1_000)
    // Refused together, the unfinished ones may have left more room than one of them needs.
    const leavesRoom = async (bytes: number) => {
      const some = Array.from({ length: 130 }, () => open(bytes))
      slow.push(...some)
      await drip()
      return !(await Promise.race([
        expectRefusal(some).then(() => true),
        Bun.sleep(COUNTED_MS).then(() => false),
      ]))
    }
    for (const bytes of [15_360, 1_024, 128]) {
      let batches = 1
      while (await leavesRoom(bytes)) expect(++batches).toBeLessThan(MOST_BATCHES)
    }
    const large = JSON.stringify(conversation(noisy)).padEnd(1_500_000, ' ')
    try {
      await beside(
        () => ingest(noisy, large).catch(() => {}),
        async () => {
          await Promise.all([expectSignals(), expectUpload()])
        },
      )
    } finally {
      clearInterval(dripping)
      for (const request of [...unfinished, ...slow]) request.reset()
    }
    await expectNobodyBlamed()
  })
})
