/** The contract of object stores: one suite, run on a folder and on a real S3 interface. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { Elysia } from 'elysia'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { mediaRoutes } from '../../src/http/media.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createFolderStore } from '../../src/platform/storage/folder.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { eventually } from '../support/eventually.ts'
import { type S3Server, startS3 } from '../support/s3/server.ts'
import type { Transfer } from './support/transfer.ts'

// Generous for busy machines: the runner kills the S3 server together with a test that times out.
setDefaultTimeout(300_000)

const MIB = 1024 * 1024
const NEVER = new AbortController().signal

interface Subject {
  readonly store: ObjectStore
  /** The base of playback URLs of this service. */
  readonly baseUrl: string
  /** How another process opens the same store. */
  readonly transfer: Transfer['store']
  /** Remains of failed puts. */
  unfinished(): Promise<number>
  close(): Promise<void>
}

const scratch = mkdtempSync(join(tmpdir(), 'earshot-contract-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** The folder with the route that serves it. */
async function openFolder(): Promise<Subject> {
  const options = { folder: join(scratch, 'media'), keyFile: join(scratch, 'keys', 'playback.key') }
  const store = createFolderStore(options)
  const app = new Elysia()
    .onError(
      ({ error }) =>
        new Response(null, { status: error instanceof AppError ? ERRORS.codes[error.code] : 500 }),
    )
    .use(mediaRoutes({ storage: store, clock: { now: () => new Date() } }, async () => true))
    .listen({ hostname: '127.0.0.1', port: 0 })
  return {
    store,
    baseUrl: `http://127.0.0.1:${app.server?.port}`,
    transfer: { folder: options },
    unfinished: async () => readdirSync(join(options.folder, '.incoming')).length,
    close: async () => void (await app.stop(true)),
  }
}

async function openS3(): Promise<Subject> {
  const server: S3Server = await startS3()
  const store = createS3Store(server.config)
  return {
    store,
    baseUrl: 'http://not-used.invalid',
    transfer: { s3: server.config },
    async unfinished() {
      const list = new ListMultipartUploadsCommand({ Bucket: server.config.bucket })
      return (await server.client.send(list)).Uploads?.length ?? 0
    },
    async close() {
      store.close()
      await server.stop()
    },
  }
}

const fileOf = (content: string | Uint8Array) => {
  const path = join(scratch, crypto.randomUUID())
  writeFileSync(path, content)
  return path
}

/** A sparse file, which takes no space. */
const sparseFile = (bytes: number) => {
  const path = fileOf('')
  truncateSync(path, bytes)
  return path
}

const newKey = () => `recordings/${crypto.randomUUID()}/1/source`

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

describe.each([
  ['folder', openFolder],
  ['s3', openS3],
] as const)('object store: %s', (_, open) => {
  let subject: Subject
  let store: ObjectStore
  beforeAll(async () => {
    subject = await open()
    store = subject.store
  })
  afterAll(() => subject.close())

  const put = async (content: string | Uint8Array, key = newKey(), contentType = 'video/mp4') => {
    await store.putFile(key, fileOf(content), { contentType, signal: NEVER })
    return key
  }
  const textOf = async (key: string, start?: number, end?: number) => {
    const range = start === undefined || end === undefined ? undefined : { start, end }
    return new Response(await store.read(key, range)).text()
  }
  const urlOf = (key: string, seconds = 60, contentType = 'audio/mpeg', fileName = 'a call.mp3') =>
    store.playbackUrl(key, {
      now: new Date(),
      contentType,
      fileName,
      expiresAt: new Date(Date.now() + seconds * 1_000),
      baseUrl: subject.baseUrl,
    })

  test('a put object is complete and has its type; the source file stays', async () => {
    const path = fileOf('hello')
    const key = newKey()
    await store.putFile(key, path, { contentType: 'audio/ogg; codecs=opus', signal: NEVER })
    expect(await store.head(key)).toEqual({ size: 5, contentType: 'audio/ogg; codecs=opus' })
    expect(await textOf(key)).toBe('hello')
    expect(existsSync(path)).toBe(true)
  })

  test('a range is half-open and truncated at the end of the object', async () => {
    const key = await put('0123456789')
    expect(await textOf(key, 0, 1)).toBe('0')
    expect(await textOf(key, 3, 7)).toBe('3456')
    expect(await textOf(key, 8, 100)).toBe('89')
    expect(await textOf(key, 10, 20)).toBe('')
  })

  test('an unknown key has no object', async () => {
    const key = newKey()
    expect(await store.head(key)).toBeNull()
    await expect(textOf(key)).rejects.toMatchObject({ name: 'ObjectMissing' })
  })

  test('delete removes the given objects, ignores missing ones and keeps others', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => put('x')))
    const kept = keys.pop() ?? ''
    await store.delete([...keys, newKey()])
    for (const key of keys) expect(await store.head(key)).toBeNull()
    expect(await textOf(kept)).toBe('x')
  })

  test('an object may have 0 bytes', async () => {
    const key = await put('')
    expect(await store.head(key)).toEqual({ size: 0, contentType: 'video/mp4' })
    expect(await textOf(key)).toBe('')
    expect(await textOf(key, 0, 10)).toBe('')
  })

  const ODD_NAMES = [
    'with space',
    'plus+and&more=?#;,',
    'percent%2Fslash%',
    'at@sign@video%2Fmp4',
    'quotes\'"`',
    'ümläut-日本語-🎧',
    '.hidden',
    '...',
    '~tilde!*()',
    'back\\slash|<>:',
    'con.',
  ]
  test.each(ODD_NAMES)('%j may be in a key and in its playback URL', async (name) => {
    const key = `odd/${crypto.randomUUID()}/${name}`
    await put(name, key)
    expect(await store.head(key)).toMatchObject({ size: Buffer.byteLength(name) })
    expect(await textOf(key)).toBe(name)
    expect(await (await fetch(await urlOf(key))).text()).toBe(name)
    await store.delete([key])
    expect(await store.head(key)).toBeNull()
  })

  test('a key that is a prefix of another key is a different object', async () => {
    const key = newKey()
    await put('short', key)
    await put('long', `${key}/more`)
    await put('longer', `${key}-longer`)
    expect(await Promise.all([textOf(key), textOf(`${key}/more`), textOf(`${key}-longer`)])).toEqual([
      'short',
      'long',
      'longer',
    ])
  })

  test.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/../b',
    'a/./b',
    'a\0b',
    'a\nb',
    '\ud800',
    'x'.repeat(513),
  ])('%j is no key', async (key) => {
    const refused = { name: 'InvalidKey' }
    await expect(put('x', key)).rejects.toMatchObject(refused)
    await expect(store.head(key)).rejects.toMatchObject(refused)
    await expect(store.read(key)).rejects.toMatchObject(refused)
    await expect(store.delete([key])).rejects.toMatchObject(refused)
    await expect(urlOf(key)).rejects.toMatchObject(refused)
  })

  test('a file of several parts is read back unchanged', async () => {
    const content = crypto.getRandomValues(new Uint8Array(64 * 1024))
    const file = new Uint8Array(10 * MIB + 1)
    for (let at = 0; at < file.length; at += content.length - 1)
      file.set(content.subarray(0, file.length - at), at)
    const key = await put(file)
    expect(sha256(await new Response(await store.read(key)).bytes())).toBe(sha256(file))
    expect(await store.head(key)).toMatchObject({ size: file.length })
    const seam = await new Response(await store.read(key, { start: 5 * MIB - 3, end: 5 * MIB + 3 })).bytes()
    expect(sha256(seam)).toBe(sha256(file.subarray(5 * MIB - 3, 5 * MIB + 3)))
  })

  test('putting and reading 128 MiB takes only a part of that in memory', async () => {
    const bytes = 128 * MIB
    const key = newKey()
    const transfer = { store: subject.transfer, key, path: sparseFile(bytes) }
    const written = await run({ ...transfer, action: 'put' })
    expect(await store.head(key)).toMatchObject({ size: bytes })
    const read = await run({ ...transfer, action: 'read' })
    expect(read.bytes).toBe(bytes)
    expect(Math.max(written.growth, read.growth)).toBeLessThan(bytes * 0.7)
  })

  test('an aborted put rejects with the reason and leaves nothing behind', async () => {
    const reason = new Error('the turn is over')
    const before = await subject.unfinished()
    const aborted = store.putFile(newKey(), fileOf('x'), {
      contentType: 'video/mp4',
      signal: AbortSignal.abort(reason),
    })
    await expect(aborted).rejects.toBe(reason)
    const key = newKey()
    const controller = new AbortController()
    const putting = store.putFile(key, otherDisk(64 * MIB), {
      contentType: 'video/mp4',
      signal: controller.signal,
    })
    putting.catch(() => {})
    await eventually(async () => (await subject.unfinished()) > before, { everyMs: 1 })
    controller.abort(reason)
    await expect(putting).rejects.toBe(reason)
    expect(await store.head(key)).toBeNull()
    expect(await subject.unfinished()).toBe(before)
  })

  test('a put of a missing file rejects and leaves nothing behind', async () => {
    const key = newKey()
    const missing = join(scratch, 'missing')
    await expect(store.putFile(key, missing, { contentType: 'video/mp4', signal: NEVER })).rejects.toThrow(
      'ENOENT',
    )
    expect(await store.head(key)).toBeNull()
  })

  test('kill -9 during a put leaves no object, and the next attempt succeeds', async () => {
    const key = newKey()
    const path = otherDisk(256 * MIB)
    const before = await subject.unfinished()
    const child = spawn({ store: subject.transfer, action: 'put', key, path })
    await eventually(async () => (await subject.unfinished()) > before, { everyMs: 1 })
    child.kill('SIGKILL')
    await child.exited
    expect(await store.head(key)).toBeNull()
    await put('again', key)
    expect(await textOf(key)).toBe('again')
  })

  describe('playback URL', () => {
    test('returns the signed type and name, and the length', async () => {
      const key = await put('0123456789')
      const answer = await fetch(await urlOf(key, 60, 'audio/mpeg', 'Übung "1".mp3'))
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('audio/mpeg')
      expect(answer.headers.get('content-length')).toBe('10')
      expect(answer.headers.get('accept-ranges') ?? 'bytes').toBe('bytes')
      expect(answer.headers.get('content-disposition')).toBe(
        `inline; filename="_bung _1_.mp3"; filename*=UTF-8''%C3%9Cbung%20%221%22.mp3`,
      )
      expect(await answer.text()).toBe('0123456789')
    })

    test.each([
      ['bytes=0-0', '0', 'bytes 0-0/10'],
      ['bytes=2-5', '2345', 'bytes 2-5/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-2', '89', 'bytes 8-9/10'],
      ['bytes=5-500', '56789', 'bytes 5-9/10'],
    ])('%s is 206', async (range, text, contentRange) => {
      const answer = await fetch(await urlOf(await put('0123456789')), { headers: { range } })
      expect([answer.status, await answer.text()]).toEqual([206, text])
      expect(answer.headers.get('content-range')).toBe(contentRange)
      expect(answer.headers.get('content-type')).toBe('audio/mpeg')
    })

    test('a range beyond the end is 416', async () => {
      const answer = await fetch(await urlOf(await put('0123456789')), { headers: { range: 'bytes=10-' } })
      expect(answer.status).toBe(416)
    })

    test('expires', async () => {
      const url = await urlOf(await put('x'), 2)
      expect((await fetch(url)).status).toBe(200)
      await eventually(async () => (await fetch(url)).status === 403)
    })

    test('is refused if key, expiry, type, name or signature is altered', async () => {
      const [key, other] = [await put('x'), await put('secret')]
      const url = new URL(await urlOf(key))
      const altered = [...url.searchParams.keys()]
        .filter((name) => name !== 'x-id')
        .map((name) => {
          const changed = new URL(url)
          const value = url.searchParams.get(name) ?? ''
          changed.searchParams.set(name, value.slice(0, -1) + (value.endsWith('1') ? '2' : '1'))
          return changed
        })
      expect(altered.length).toBeGreaterThanOrEqual(4)
      const [name, signature] = [...url.searchParams].find(([key]) => /signature$/i.test(key)) as [
        string,
        string,
      ]
      // In base64, several last characters decode to the same bytes.
      for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
        if (signature.endsWith(last)) continue
        const changed = new URL(url)
        changed.searchParams.set(name, signature.slice(0, -1) + last)
        altered.push(changed)
      }
      const elsewhere = new URL(url)
      elsewhere.pathname = elsewhere.pathname.replace(key, other)
      const bare = new URL(url)
      bare.search = ''
      for (const forged of [...altered, elsewhere, bare]) {
        const answer = await fetch(forged)
        expect([forged.search, answer.status >= 400 && answer.status < 500]).toEqual([forged.search, true])
        expect(await answer.text()).not.toContain('secret')
      }
    })

    test('of a deleted object is 404', async () => {
      const key = await put('x')
      const url = await urlOf(key)
      await store.delete([key])
      expect((await fetch(url)).status).toBe(404)
    })

    test('of content that a browser would run is sent as a download', async () => {
      const answer = await fetch(await urlOf(await put('<script>'), 60, 'text/html', 'a.html'))
      expect(answer.headers.get('content-disposition')).toStartWith('attachment;')
    })
  })
})

function spawn(transfer: Transfer) {
  return Bun.spawn(
    [process.execPath, join(import.meta.dir, 'support', 'transfer.ts'), JSON.stringify(transfer)],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
  )
}

async function run(transfer: Transfer): Promise<{ readonly growth: number; readonly bytes: number }> {
  const child = spawn(transfer)
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return JSON.parse(text)
}

/** A file on another file system, if there is one, so that the folder store copies instead of linking. */
function otherDisk(bytes: number): string {
  const memory = '/dev/shm'
  if (!existsSync(memory) || statSync(memory).dev === statSync(scratch).dev) return sparseFile(bytes)
  const folder = mkdtempSync(join(memory, 'earshot-contract-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  writeFileSync(path, '')
  truncateSync(path, bytes)
  return path
}
