/**
 * Ten recordings in every media state, and a kill -9 of everything at once: the API process, two workers and their child processes.
 * After a restart all of them finish.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DnsServer, startDns } from '../support/dns.ts'
import { eventually } from '../support/eventually.ts'
import { type RawOrigin, sha256, startRawOrigin, wav } from '../support/media.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { clientOf, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createUpload, offsetOf, patch, type TestUpload } from '../support/uploads.ts'
import { media, picture, tone } from './support/ffmpeg.ts'
import { running, slowFfmpeg } from './support/slow.ts'

setDefaultTimeout(300_000)

const HOST = 'media.example.com'
const SOUND = wav(3)
/** Of a partly received file. */
const HALF = 20_000
/** Takes longer than the time until everything is killed. */
const FILM = media('mov', ...picture('160x120', 4), ...tone(4), '-c:v', 'mpeg4', '-c:a', 'pcm_s16be')

const services = useServices()
const origins: RawOrigin[] = []
const started: Everything[] = []
let wasKilled = false
let folder: string
let dns: DnsServer
let redis: PrivateRedis
/** A database, a tenant and an object store to inspect; it runs no worker. */
let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-survival-'))
  dns = await startDns()
  dns.set(HOST, ['127.0.0.1'])
  redis = await startPrivateRedis()
  server = await startTestServer({ env: { DATA_DIR: join(services.folder, 'data') } })
  tenant = await server.createTenant()
})
afterAll(async () => {
  await server?.stop()
  await redis?.stop()
  dns?.stop()
  for (const origin of origins) origin.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The processes that work: one API process, two workers. */
interface Everything {
  readonly api: Service
  kill(): Promise<void>
}

async function startEverything(ffmpeg: string): Promise<Everything> {
  const { dataDir } = server.deps.config
  const script = new URL('support/worker.ts', import.meta.url).pathname
  const workers = [1, 2].map(() =>
    Bun.spawn([process.execPath, script, server.database.url, dns.address, dataDir, ffmpeg]),
  )
  const env = { ROLE: 'api', DATABASE_URL: server.database.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent' }
  const api = await services.start({ env })
  const everything = {
    api,
    async kill() {
      for (const worker of workers) worker.kill('SIGKILL')
      await Promise.all([api.kill('SIGKILL'), ...workers.map(({ exited }) => exited)])
    },
  }
  started.push(everything)
  return everything
}

/** At first sends only this many bytes; null: is busy until everything was killed. */
function origin(bytes: Uint8Array, sentAtFirst: number | null): string {
  const started = startRawOrigin(({ number, write, end }) => {
    if (sentAtFirst === null && !wasKilled) {
      write('HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n')
      return end()
    }
    write(`HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: ${bytes.byteLength}\r\n\r\n`)
    write(number === 1 && sentAtFirst !== null ? bytes.slice(0, sentAtFirst) : bytes)
    if (number > 1 || sentAtFirst !== HALF) end()
  })
  origins.push(started)
  return `http://${HOST}:${started.port}/talk`
}

test('ten recordings in every state survive kill -9 of everything at once and finish', async () => {
  try {
    await survive()
  } finally {
    for (const everything of started) await everything.kill()
  }
})

async function survive(): Promise<void> {
  let everything = await startEverything(slowFfmpeg(folder, 0.01))
  const client = () => clientOf(everything.api.baseUrl, { apiKey: tenant.apiKey })
  const assetOf = async (id: string) => (await client().get(`${RECORDINGS}/${id}`)).body.asset
  const upload = async (bytes: Uint8Array<ArrayBuffer>, sent: number): Promise<TestUpload> => {
    const created = await createUpload(everything.api.baseUrl, tenant.apiKey, { fileSize: bytes.byteLength })
    if (sent > 0) expect((await patch(created.uploadUrl, 0, bytes.slice(0, sent))).status).toBe(204)
    return created
  }
  const fromUrl = async (url: string): Promise<string> =>
    (await client().post(RECORDINGS, { assetUrl: url })).body.id
  const phaseOf = async ({ recordingId, uploadId }: TestUpload) =>
    (await client().get(`${RECORDINGS}/${recordingId}/uploads/${uploadId}`)).body.phase
  const be = (id: string, status: string) => eventually(async () => (await assetOf(id)).status === status)

  const ready = await upload(SOUND, SOUND.byteLength)
  const broken = await upload(new Uint8Array(Buffer.from('%PDF-1.7\n')), 9)
  const cancelled = await upload(SOUND, 100)
  await client().delete(`${RECORDINGS}/${cancelled.recordingId}/uploads/${cancelled.uploadId}`)
  await be(ready.recordingId, 'completed')
  await be(broken.recordingId, 'failed')
  const untouched = await upload(SOUND, 0)
  const half = await upload(SOUND, HALF)
  const encoding = await upload(FILM, FILM.byteLength)
  const arriving = await fromUrl(origin(SOUND, HALF))
  const fetched = await fromUrl(origin(FILM, FILM.byteLength))
  await be(arriving, 'uploading')
  await be(fetched, 'processing')
  await eventually(async () => (await phaseOf(encoding)) === 'encoding')
  await eventually(() => running(server.deps.config.dataDir).length === 2)
  const queued = await fromUrl(origin(SOUND, null))
  await eventually(() => (origins.at(-1)?.requests.length ?? 0) > 0)
  const whole = await upload(SOUND, SOUND.byteLength)
  await everything.kill()
  wasKilled = true

  const { sql } = server.database
  const states = await sql<{ status: string }[]>`select asset_status as status from recording`
  expect(states).toHaveLength(10)
  const had = new Set(states.map(({ status }) => status))
  for (const status of ['waiting', 'queued', 'uploading', 'processing', 'completed', 'failed', 'cancelled'])
    expect(had).toContain(status)
  // Killing the workers has killed their child processes, too.
  await eventually(() => running(server.deps.config.dataDir).length === 0)

  everything = await startEverything('')
  for (const waiting of [untouched, half]) {
    const url = waiting.uploadUrl.replace(/^http:\/\/[^/]+/, everything.api.baseUrl)
    const offset = (await offsetOf(url)) ?? -1
    expect(offset).toBe(waiting === half ? HALF : 0)
    expect((await patch(url, offset, SOUND.slice(offset))).status).toBe(204)
  }
  const finishing = [untouched, half, encoding, whole, ready].map(({ recordingId }) => recordingId)
  await Promise.all([...finishing, arriving, fetched, queued].map((id) => be(id, 'completed')))
  expect((await assetOf(broken.recordingId)).status).toBe('failed')
  expect((await assetOf(cancelled.recordingId)).status).toBe('cancelled')
  for (const { recordingId } of [half, whole, ready]) {
    const [row] = await sql<{ key: string }[]>`
      select asset_object_key as key from recording where id = ${recordingId}`
    const stored = await new Response(await server.deps.storage.read(row!.key)).arrayBuffer()
    expect(sha256(stored)).toBe(sha256(SOUND))
  }
  expect(await Promise.all([encoding, half, whole].map(phaseOf))).toEqual(['ready', 'ready', 'ready'])
  await eventually(() => readdirSync(join(server.deps.config.dataDir, 'tmp')).length === 0)
}
