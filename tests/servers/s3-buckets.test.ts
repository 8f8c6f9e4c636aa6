/** Buckets as companies set them up: with versions, with a rule that demands checksums, behind proxies that drop lengths. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListObjectVersionsCommand, PutBucketVersioningCommand } from '@aws-sdk/client-s3'
import type { IncomingProgress } from '../../src/platform/storage/incoming.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import type { S3Config } from '../../src/platform/storage/s3-config.ts'
import { createKeptVersions } from '../../src/platform/storage/s3-kept-versions.ts'
import { withRemedy } from '../../src/platform/storage/s3-remedy.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { asStorageUnavailable } from '../../src/platform/storage/unavailable.ts'
import { eventually } from '../support/eventually.ts'
import { startRawOrigin } from '../support/media.ts'
import { type S3Server, startS3 } from '../support/s3/server.ts'

const MIB = 1024 * 1024
const AUDIO = 'audio/ogg'

let s3: S3Server
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'earshot-buckets-'))
  s3 = await startS3()
}, 300_000)
afterAll(async () => {
  await s3?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function put(store: ObjectStore, key: string, bytes: number | string) {
  const path = join(folder, crypto.randomUUID())
  await writeFile(path, typeof bytes === 'string' ? bytes : new Uint8Array(bytes))
  await store.putFile(key, path, { contentType: AUDIO, signal: AbortSignal.timeout(120_000) })
}

/** Two requests that each leave bytes too short for a part. */
async function begin(store: ObjectStore, key: string): Promise<IncomingProgress> {
  let progress: IncomingProgress = { offset: 0, resumeState: null }
  for (const text of ['one', 'two']) {
    const writer = await store.incoming.append(key, progress, {
      size: 9 * MIB,
      contentType: AUDIO,
      alone: true,
      record: async (record) => {
        progress = record
      },
    })
    await writer.write(new TextEncoder().encode(text))
    await writer.flush()
  }
  return progress
}

/** In front of the S3 server. `change` may answer itself. */
function proxyOf(change: (request: Request) => Response | null) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const own = change(request)
      if (own !== null) return own
      const { pathname, search } = new URL(request.url)
      const headers = new Headers(request.headers)
      const body = request.body === null ? null : await request.bytes()
      return fetch(`${s3.config.endpoint}${pathname}${search}`, { method: request.method, headers, body })
    },
  })
  return { url: server.url.origin, [Symbol.dispose]: () => void server.stop(true) }
}

interface Warning {
  readonly bucket?: string
  readonly objects?: number
  readonly code?: string
}

const storeAt = (endpoint: string, more: Partial<S3Config> = {}, warnings: Warning[] = []) =>
  createS3Store({ ...s3.config, endpoint, ...more }, join(folder, 'spool'), {
    warn: (warning: Warning) => void warnings.push(warning),
  })

const refused = (code: string, status = 403, message = 'no') =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`, {
    status,
  })

test('versions that stay are one line in the log at once, and one for all that follow in a while', async () => {
  const lines: Warning[] = []
  const kept = createKeptVersions({ warn: (line: Warning) => void lines.push(line) }, 'media', 100)
  for (const code of ['AccessDenied', 'AccessDenied', 'InvalidRequest']) kept.add(code)
  const first = { bucket: 'media', objects: 1, code: 'AccessDenied' }
  expect(lines).toEqual([first])
  const second = { bucket: 'media', objects: 2, code: 'InvalidRequest' }
  await eventually(() => lines.length === 2)
  expect(lines).toEqual([first, second])
  kept.close()
  expect(lines).toHaveLength(2)
})

const DEMAND =
  'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters'

/** As Object Lock demands of each put that it has a checksum. */
const needsChecksum = (request: Request) =>
  request.method === 'PUT' && request.headers.get('content-md5') === null
    ? refused('InvalidRequest', 400, DEMAND)
    : null

test('every put has a checksum, and none where the setting says so', async () => {
  using proxy = proxyOf(needsChecksum)
  const store = storeAt(proxy.url)
  await store.assertWritable(AbortSignal.timeout(60_000))
  await put(store, 'small', 'x')
  await put(store, 'large', 6 * MIB)
  const whole = await begin(store, 'incoming')
  await store.incoming.discard('incoming', whole.resumeState, undefined)
  await store.incoming.publish('empty', { offset: 0, resumeState: null, parts: [] }, AUDIO)
  expect([await store.head('large'), await store.head('empty')]).toEqual([
    { size: 6 * MIB, contentType: AUDIO },
    { size: 0, contentType: AUDIO },
  ])
  store.close()
  const bare = storeAt(proxy.url, { checksum: 'none' })
  const failure = await put(bare, 'bare', 'x').catch((error: unknown) => error)
  const remedy = 'The bucket demands a checksum. Set S3_CHECKSUM to md5.'
  expect(asStorageUnavailable(failure)).toMatchObject({ code: 'unavailable' })
  expect(withRemedy(failure, 'PutObject')).toMatchObject({ message: remedy })
  await expect(bare.assertWritable(AbortSignal.timeout(60_000))).rejects.toThrow(remedy)
  bare.close()
  // A checksum that is wrong is no demand for one.
  const wrong = 'The Content-MD5 you specified did not match what we received.'
  using mismatch = proxyOf(({ method }) => (method === 'PUT' ? refused('BadDigest', 400, wrong) : null))
  const other = storeAt(mismatch.url)
  const mismatched = await put(other, 'wrong', 'x').catch((error: unknown) => error)
  expect([asStorageUnavailable(mismatched), withRemedy(mismatched, 'PutObject')]).toEqual([null, mismatched])
  other.close()
}, 120_000)

test('an answer without a length is read to its end', async () => {
  const signal = AbortSignal.timeout(60_000)
  const HEAD = `HTTP/1.1 200 OK\r\nContent-Type: ${AUDIO}\r\nConnection: close\r\n\r\n`
  const origin = startRawOrigin(({ head, write, end }) => {
    write(head.startsWith('HEAD') ? HEAD : `${HEAD}nine byte`)
    end()
  })
  const store = storeAt(`http://127.0.0.1:${origin.port}`)
  const copy = await store.localFile('without', folder, signal)
  expect(await Bun.file(copy.path).text()).toBe('nine byte')
  await copy.release()
  expect(await store.head('without')).toEqual({ size: 9, contentType: AUDIO })
  store.close()
  origin.stop()
}, 60_000)

async function versionsOf(prefix: string) {
  const list = new ListObjectVersionsCommand({ Bucket: s3.config.bucket, Prefix: prefix })
  const { Versions = [] } = await s3.client.send(list)
  return Versions.length
}

test('a deleted object leaves no version, and one that may not be deleted stays hidden', async () => {
  const Bucket = s3.config.bucket
  const VersioningConfiguration = { Status: 'Enabled' } as const
  await s3.client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
  const warnings: Warning[] = []
  const store = storeAt(s3.config.endpoint ?? '', {}, warnings)
  await put(store, 'kept/one', 'first')
  await put(store, 'kept/one', 'second')
  await put(store, 'kept/one-more', 'neighbour')
  const { resumeState } = await begin(store, 'kept/incoming')
  expect(await versionsOf('kept/incoming')).toBeGreaterThan(0)
  await store.incoming.discard('kept/incoming', resumeState, undefined)
  await store.delete(['kept/one'])
  expect([await versionsOf('kept/one'), await versionsOf('kept/incoming')]).toEqual([1, 0])
  expect(await store.head('kept/one-more')).toMatchObject({ size: 9 })
  await put(store, 'locked', 'first')
  using locked = proxyOf(({ method, url }) =>
    method === 'DELETE' && new URL(url).searchParams.has('versionId') ? refused('AccessDenied') : null,
  )
  const heldWarnings: Warning[] = []
  const held = storeAt(locked.url, {}, heldWarnings)
  await held.delete(['locked'])
  expect([await held.head('locked'), await versionsOf('locked')]).toEqual([null, 1])
  using secret = proxyOf(({ url }) =>
    new URL(url).searchParams.has('versions') ? refused('AccessDenied') : null,
  )
  const unlistedWarnings: Warning[] = []
  const unlisted = storeAt(secret.url, {}, unlistedWarnings)
  await put(store, 'unlisted', 'first')
  await unlisted.delete(['unlisted'])
  expect([await unlisted.head('unlisted'), await versionsOf('unlisted')]).toEqual([null, 1])
  // The first is said at once, and two more within the hour at the end.
  await put(store, 'more/one', 'first')
  await put(store, 'more/two', 'first')
  await held.delete(['more/one', 'more/two'])
  const line = { bucket: Bucket, objects: 1, code: 'AccessDenied' }
  expect([heldWarnings, unlistedWarnings]).toEqual([[line], [line]])
  using away = proxyOf(({ method, url }) =>
    method === 'DELETE' && new URL(url).searchParams.has('versionId') ? refused('NoSuchVersion', 404) : null,
  )
  const late = storeAt(away.url, {}, warnings)
  await put(store, 'late', 'first')
  await late.delete(['late'])
  for (const each of [store, held, unlisted, late]) each.close()
  expect([heldWarnings, unlistedWarnings]).toEqual([[line, { ...line, objects: 2 }], [line]])
  expect(warnings).toEqual([])
}, 120_000)
