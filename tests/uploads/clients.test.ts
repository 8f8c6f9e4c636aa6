/**
 * Real clients upload real media over connections that are cut, to API processes that are killed. Two processes serve one upload in
 * turn, over a folder and over S3. The stored bytes always equal the file.
 *
 * `UPLOAD_SEED` repeats a run.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRandom, type Random } from '../crash/support/random.ts'
import { sha256 } from '../support/media.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { type S3Server, startS3 } from '../support/s3/server.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload } from '../support/uploads.ts'
import { type ApiPool, startApiPool } from './support/api-pool.ts'
import { CLIENTS, type ClientName } from './support/clients.ts'
import { startCuttingProxy } from './support/cutting-proxy.ts'
import { FORMATS, type Format, type MediaFile, makeMedia } from './support/media-files.ts'
import { storedBytes } from './support/stored.ts'

setDefaultTimeout(300_000)

const SEED = Number(process.env.UPLOAD_SEED ?? 20_260_101)
const CUTS = 3
/** The bytes are the same to a store, whatever the format. Of S3 a check has those above and below a part, in one request and in many. */
const FORMATS_ON = { folder: FORMATS, S3: rounds<readonly Format[]>(['mov', 'mp3', 'wav', 'ogg'], FORMATS) }
const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]

let folder: string
let files: Readonly<Record<Format, MediaFile>>
let redis: PrivateRedis
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-uploads-'))
  files = await makeMedia(folder)
  redis = await startPrivateRedis()
})
afterAll(async () => {
  await redis?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Arrived {
  /** The status of the upload. */
  readonly state: unknown
  /** Digest of the stored bytes. */
  readonly digest: string
  readonly cuts: number
  readonly resumedAt: readonly number[]
}

/** Every client uploads every format, all at once. */
function describeStore(store: 'folder' | 'S3') {
  const formats = FORMATS_ON[store]
  describe(`on ${store === 'folder' ? 'the folder' : 'S3'}`, () => {
    let s3: S3Server | null = null
    let server: TestServer
    let tenant: TestTenant
    let pool: ApiPool
    const uploads = new Map<string, Promise<Arrived>>()

    beforeAll(async () => {
      s3 = store === 'S3' ? await startS3() : null
      const env = { DATA_DIR: join(services.folder, 'data'), ...s3?.env }
      server = await startTestServer({ env })
      tenant = await server.createTenant()
      pool = await startPool({ ...env, DATABASE_URL: server.database.url })
      const random = createRandom(SEED)
      for (const format of formats)
        for (const client of CLIENT_NAMES) {
          const seed = createRandom(random.integer(2 ** 32))
          const upload = send(format, client, seed)
          upload.catch(() => {})
          uploads.set(`${format} ${client}`, upload)
        }
    })
    afterAll(async () => {
      await Promise.allSettled(uploads.values())
      await pool?.stop()
      await server?.stop()
      await s3?.stop()
    })
    const services = useServices()

    /** Processes are killed after a fifth and after half of the bytes that the clients send at least. */
    function startPool(env: Readonly<Record<string, string>>): Promise<ApiPool> {
      const sizes = formats.map((format) => files[format].bytes.byteLength)
      const total = sizes.reduce((sum, size) => sum + size, 0) * CLIENT_NAMES.length
      const limits = { RATE_LIMIT_WRITES: '0', RATE_LIMIT_READS: '0' }
      const all = { ...env, ...limits, REDIS_URL: redis.url, LOG_LEVEL: 'error', DATABASE_POOL_SIZE: '8' }
      return startApiPool(services, all, [total / 5, total / 2])
    }

    async function send(format: Format, client: ClientName, random: Random): Promise<Arrived> {
      const file = files[format]
      const fileSize = file.bytes.byteLength
      const upload = await createTestUpload(server, tenant, { fileName: `call.${format}`, fileSize })
      const proxy = await startCuttingProxy(pool, { times: CUTS, bytes: fileSize, random })
      try {
        const url = upload.uploadUrl.replace(server.baseUrl, proxy.origin)
        // Every second format is sent in one request, if the client can do both.
        const chunks = FORMATS.indexOf(format) % 2 === 0 ? 1 : 6
        const { resumedAt } = await CLIENTS[client](url, file, { folder, chunks })
        const path = `/v3/rest/recordings/${upload.recordingId}/uploads/${upload.uploadId}`
        const { body: state } = await server.as({ apiKey: tenant.apiKey }).get(path)
        const digest = sha256(await storedBytes(server.deps, upload.uploadId))
        return { state, digest, cuts: proxy.cuts(), resumedAt }
      } finally {
        proxy.stop()
      }
    }

    for (const client of CLIENT_NAMES)
      test.each(formats)(`%s by ${client}: the stored bytes equal the file`, async (format) => {
        const { state, digest } = await uploads.get(`${format} ${client}`)!
        expect(state).toMatchObject({ phase: 'processing', errorCode: null })
        expect(digest).toBe(sha256(files[format].bytes))
      })

    test('connections were cut, both processes were killed, and other processes continued the uploads', async () => {
      const arrived = await Promise.all(uploads.values())
      expect(pool.kills()).toBe(2)
      expect(pool.passed).toHaveLength(3)
      for (const bytes of pool.passed) expect(bytes).toBeGreaterThan(100_000)
      const cuts = arrived.map((upload) => upload.cuts)
      expect(Math.max(...cuts)).toBe(CUTS)
      expect(cuts.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(arrived.length)
      const resumed = arrived.filter(({ resumedAt }) => resumedAt.some((offset) => offset > 0))
      expect(resumed.length).toBeGreaterThan(2)
    })
  })
}

describeStore('folder')
describeStore('S3')
