/** `earshot upload` as a program against a started service, over a line that breaks. It has no database. */

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type CountingProxy, startCountingProxy } from '../support/counting-proxy.ts'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { writePaddedMp4, writePaddedWav } from '../support/padded-media.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
const MIB = 1024 * 1024
const SIZE = 12 * MIB
/** Heads of requests and their bodies of JSON. */
const OVERHEAD = 64 * 1024

let server: TestServer
let proxy: CountingProxy
let tenant: TestTenant
let client: Client
let folder: string
let talk: string

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  proxy = await startCountingProxy(server.baseUrl)
})
beforeEach(async () => {
  proxy.release()
  tenant = await server.createTenant()
  client = server.as(tenant)
  folder = mkdtempSync(join(tmpdir(), 'earshot-upload-'))
  talk = writePaddedWav(join(folder, 'talk.wav'), SIZE)
  folders.push(folder)
})
const folders: string[] = []
afterAll(async () => {
  await proxy?.stop()
  await server?.stop()
  for (const path of folders) rmSync(path, { recursive: true })
})

interface Run {
  readonly child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  readonly result: Promise<{ readonly code: number; readonly out: string; readonly err: string }>
}

/** Nothing of this process's environment gets through, least of all a database. */
const environment = () => ({
  PATH: process.env.PATH ?? '',
  HOME: folder,
  EARSHOT_URL: proxy.url,
  EARSHOT_API_KEY: tenant.apiKey,
})

function start(args: readonly string[], env: Record<string, string> = {}): Run {
  const child = Bun.spawn([...EARSHOT, 'upload', ...args], {
    cwd: ROOT,
    env: { ...environment(), ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const all = [new Response(child.stdout).text(), new Response(child.stderr).text()] as const
  const result = Promise.all([child.exited, ...all]).then(([code, out, err]) => ({ code, out, err }))
  return { child, result }
}

const upload = (args: readonly string[], env: Record<string, string> = {}) => start(args, env).result

/** Runs with `--json`: standard output is exactly one object. */
async function uploadJson(...args: readonly string[]) {
  const { code, out, err } = await upload([...args, '--json'])
  return { code, err, uploads: JSON.parse(out).uploads }
}

/** Every recording of the tenant. */
const recordings = async () => (await client.get(RECORDINGS)).body.data

const safely = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}

const stateFolder = () => join(folder, '.local', 'state', 'earshot', 'uploads')
const sha256 = (bytes: Uint8Array | ArrayBuffer) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Of the bytes that the service has taken in; what is played may have been encoded from them. */
async function stored(recordingId: string): Promise<string> {
  const [upload] = await server.deps.sql<{ object_key: string }[]>`
    select object_key from upload where recording_id = ${recordingId}`
  const { signal } = new AbortController()
  const { path, release } = await server.deps.storage.localFile(upload?.object_key ?? '', folder, signal)
  try {
    return sha256(readFileSync(path))
  } finally {
    await release()
  }
}

const original = (path = talk) => sha256(readFileSync(path))

describe('earshot upload', () => {
  test('creates a recording, sends the file, waits until it is ready, and prints its URL', async () => {
    const film = writePaddedMp4(join(folder, 'talk.mp4'), SIZE)
    const { code, out, err } = await upload([film, '--name', 'Talk with Ada'])
    // A slow machine also says how far the encoding is.
    expect(err).toMatch(/^(?:talk\.mp4: encoding \d+ %\n)*talk\.mp4: ready\n$/)
    expect(code).toBe(0)
    const [{ id, display_name }] = await recordings()
    expect(display_name).toBe('Talk with Ada')
    expect(out).toContain(`recording  ${id}`)
    expect(out).toMatch(/url {8}http:\/\/\S+\nduration {3}\d+(\.\d+)? s\n$/)
    expect(await stored(id)).toBe(original(film))
    expect(readdirSync(stateFolder())).toEqual([])
  })

  test('redraws a bar with sizes on a terminal', async () => {
    const decoder = new TextDecoder()
    let drawn = ''
    const child = Bun.spawn([...EARSHOT, 'upload', talk, '--no-wait'], {
      cwd: ROOT,
      env: environment(),
      terminal: {
        cols: 120,
        rows: 24,
        data(_, bytes) {
          drawn += decoder.decode(bytes, { stream: true })
        },
      },
    })
    expect(await child.exited).toBe(0)
    await eventually(() => drawn.includes('status'))
    // Each time the line is taken away before something else is drawn.
    const lines = drawn.split('\r\u001b[K')
    expect(lines[1]).toMatch(/^talk\.wav {2}\[[█·]{30}\] +\d+ % {3}\S+ \w?B of 12\.6 MB/)
    expect(lines.at(-1)).toStartWith('talk.wav: sent')
  })

  test('uploads several files; a bad file does not stop the others; --json prints one object', async () => {
    const bad = join(folder, 'notes.mp4')
    writeFileSync(bad, 'These are not media.')
    const { code, err, uploads } = await uploadJson(bad, talk)
    expect(code).toBe(1)
    expect(err).toMatch(/^earshot: notes\.mp4: .*unsupported_media_type.*$/m)
    expect(err).toContain('talk.wav: ready\n')
    expect(uploads).toEqual([
      {
        file: bad,
        status: 'failed',
        recordingId: expect.any(String),
        uploadId: expect.any(String),
        url: null,
        durationSeconds: null,
        error: { code: 'unsupported_media_type', message: expect.any(String) },
      },
      {
        file: talk,
        status: 'ready',
        recordingId: expect.any(String),
        uploadId: expect.any(String),
        url: expect.stringMatching(/^http/),
        durationSeconds: expect.any(Number),
        error: null,
      },
    ])
    expect((await recordings()).map((row: { display_name: string }) => row.display_name).sort()).toEqual([
      'notes.mp4',
      'talk.wav',
    ])
  })

  test('opens each file only when its turn comes', async () => {
    const files = [talk, ...['b', 'c', 'd'].map((name) => writePaddedWav(join(folder, `${name}.wav`), MIB))]
    const held = proxy.holdAfter(SIZE / 2)
    const run = start([...files, '--json', '--no-wait'])
    await held
    const descriptors = join('/proc', String(run.child.pid), 'fd')
    const open = readdirSync(descriptors).flatMap((name) => {
      // Some are gone by then.
      const target = safely(() => readlinkSync(join(descriptors, name))) ?? ''
      return files.includes(target) ? [target] : []
    })
    expect(open).toEqual([talk])
    proxy.release()
    const { code, out } = await run.result
    const { uploads } = JSON.parse(out)
    expect([code, uploads.map(({ status }: { status: string }) => status)]).toEqual([
      0,
      Array(4).fill('sent'),
    ])
  })

  test('uploads for a user into a folder', async () => {
    const { body } = await server
      .as({ userToken: tenant.userToken })
      .post('/v3/rest/folders', { name: 'Own' })
    const credential = ['--token', tenant.userToken, '--folder', body.id]
    const { code, out } = await upload([talk, ...credential, '--json'], { EARSHOT_API_KEY: '' })
    expect(code).toBe(0)
    const [{ recordingId, uploadId }] = JSON.parse(out).uploads
    const found = await server.as({ userToken: tenant.userToken }).get(`${RECORDINGS}/${recordingId}`)
    expect(found.body.folderIds).toEqual([body.id])
    const [row] = await server.deps.sql`select origin, user_id from upload where id = ${uploadId}`
    expect(row).toEqual({ origin: proxy.url, user_id: tenant.userId })
  })

  test('exits with --no-wait when the bytes have arrived', async () => {
    const { code, uploads } = await uploadJson(talk, '--no-wait')
    expect([code, uploads[0].status, uploads[0].url]).toEqual([0, 'sent', null])
    const { recordingId, uploadId } = uploads[0]
    const { body } = await client.get(`${RECORDINGS}/${recordingId}/uploads/${uploadId}`)
    expect(body.phase).not.toBe('waiting')
  })

  test('uses the recording of a known external id, unless it has media', async () => {
    const made = await client.post(RECORDINGS, { record: { externalId: 'call-1' } })
    const first = await uploadJson(talk, '--external-id', 'call-1')
    expect([first.code, first.uploads[0].recordingId]).toEqual([0, made.body.id])
    const second = await uploadJson(talk, '--external-id', 'call-1')
    expect([second.code, second.uploads[0].error.code]).toEqual([1, 'media_exists'])
    expect(second.err).toContain(`recording ${made.body.id} already has media; use --replace to replace it`)
    const third = await uploadJson(talk, '--external-id', 'call-1', '--replace')
    expect([third.code, third.uploads[0].recordingId]).toEqual([0, made.body.id])
    expect(third.uploads[0].uploadId).not.toBe(first.uploads[0].uploadId)
  })
})

describe('what is cut goes on', () => {
  test('after a lost connection, with the missing bytes', async () => {
    const before = proxy.forwarded
    proxy.cutAfter(SIZE / 2)
    const { code, err } = await upload([talk])
    expect(code).toBe(0)
    expect(err).toMatch(/^earshot: .*; again in \d\.\d s$/m)
    expect(await stored((await recordings())[0].id)).toBe(original())
    expect(proxy.forwarded - before).toBeWithin(SIZE, SIZE * 1.25 + OVERHEAD)
  })

  test('after kill -9 of the client, in the same recording, with the missing bytes', async () => {
    const held = proxy.holdAfter(SIZE / 2)
    const { child, result } = start([talk])
    await held
    child.kill('SIGKILL')
    await result
    proxy.release()
    const before = proxy.forwarded
    const { code } = await upload([talk])
    expect(code).toBe(0)
    expect(proxy.forwarded - before).toBeLessThan(SIZE * 0.75)
    const rows = await recordings()
    expect(rows).toHaveLength(1)
    expect(await stored(rows[0].id)).toBe(original())
  })

  test('after an interruption, which says how to resume; the notes are private and contain no secret', async () => {
    const held = proxy.holdAfter(SIZE / 2)
    const { child, result } = start([talk])
    await held
    child.kill('SIGINT')
    const { code, err } = await result
    expect([code, err]).toEqual([130, 'earshot: interrupted: repeat the command to resume\n'])
    const [name = ''] = readdirSync(stateFolder())
    const path = join(stateFolder(), name)
    expect([statSync(path).mode & 0o777, statSync(stateFolder()).mode & 0o777]).toEqual([0o600, 0o700])
    const [upload_] = await server.deps.sql<{ id: string; recording_id: string }[]>`
      select id, recording_id from upload where organization_id = ${tenant.organizationId}`
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      externalId: expect.stringMatching(/^upload-[0-9a-f-]{36}$/),
      recordingId: upload_?.recording_id ?? '',
      uploadId: upload_?.id ?? '',
    })
    proxy.release()
    const again = await uploadJson(talk)
    expect([again.code, again.uploads[0].uploadId]).toEqual([0, upload_?.id])
  })

  test('after the response to the creation was lost, without a second recording', async () => {
    proxy.swallowAnswer()
    expect((await upload([talk])).code).toBe(0)
    expect(await recordings()).toHaveLength(1)
  })

  test('in several files, without sending finished files again', async () => {
    const second = writePaddedWav(join(folder, 'second.wav'), SIZE)
    const held = proxy.holdAfter(SIZE * 1.5)
    const { child, result } = start([talk, second])
    await held
    child.kill('SIGINT')
    await result
    proxy.release()
    const before = proxy.forwarded
    const { code, uploads } = await uploadJson(talk, second)
    expect([code, uploads.map(({ status }: { status: string }) => status)]).toEqual([0, ['ready', 'ready']])
    expect(proxy.forwarded - before).toBeLessThan(SIZE * 0.75)
    expect(await recordings()).toHaveLength(2)
  })

  test('but in a new recording if the old one was deleted', async () => {
    const held = proxy.holdAfter(SIZE / 2)
    const { child, result } = start([talk])
    await held
    child.kill('SIGKILL')
    await result
    proxy.release()
    const [{ id }] = await recordings()
    await client.delete(`${RECORDINGS}/${id}`)
    const { code, uploads } = await uploadJson(talk)
    expect(code).toBe(0)
    expect(uploads[0].recordingId).not.toBe(id)
  })

  test('but not an upload that was cancelled meanwhile', async () => {
    const held = proxy.holdAfter(SIZE / 4)
    const { result } = start([talk, '--json'])
    await held
    const [{ id }] = await recordings()
    const [upload_] = await server.deps.sql<
      { id: string }[]
    >`select id from upload where recording_id = ${id}`
    await client.delete(`${RECORDINGS}/${id}/uploads/${upload_?.id}`)
    proxy.release()
    const { code, out } = await result
    expect([code, JSON.parse(out).uploads[0].error.code]).toEqual([1, 'cancelled'])
    const rows = await server.deps.sql`select phase from upload where recording_id = ${id}`
    expect([...rows]).toEqual([{ phase: 'cancelled' }])
  })

  test('but not a file that changes meanwhile: the upload is cancelled', async () => {
    const held = proxy.holdAfter(SIZE / 4)
    const { result } = start([talk, '--json'])
    await held
    utimesSync(talk, new Date(), new Date())
    proxy.release()
    const { code, out } = await result
    expect([code, JSON.parse(out).uploads[0].error.code]).toEqual([1, 'file_changed'])
    const rows = await server.deps.sql`
      select phase from upload where organization_id = ${tenant.organizationId}`
    expect([...rows]).toEqual([{ phase: 'cancelled' }])
  })
})

describe('a mistake is one line', () => {
  test('and exit code 2 for a wrong command line; nothing is sent', async () => {
    const empty = join(folder, 'empty.mp4')
    writeFileSync(empty, '')
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [[], /usage: earshot upload <file>…/],
      [[talk, join(folder, 'missing.mp4')], /missing\.mp4: no such file/],
      [[empty], /empty\.mp4: the file is empty/],
      [[folder], /not a regular file/],
      [[talk, talk], /is given twice/],
      [[talk, join(folder, 'x'), '--name', 'x'], /give one file/],
      [[talk, '--key', 'a', '--token', 'b'], /exclude each other/],
      [[talk, '--key', 'a b'], /--key does not have the form of a credential/],
      [[talk, '--url', 'ftp://example.com'], /--url must be/],
      [[talk, '--url', 'https://u:p@example.com'], /--url must be/],
    ]
    for (const [args, message] of cases) {
      const { code, out, err } = await upload(args)
      expect({ args, code, out, lines: err.split('\n').length }).toEqual({ args, code: 2, out: '', lines: 2 })
      expect(err).toMatch(message)
    }
    expect((await upload([talk], { EARSHOT_API_KEY: '' })).err).toContain(
      'no credential: set EARSHOT_API_KEY',
    )
    expect(await recordings()).toEqual([])
  })

  test('and exit code 1 if the service refuses; no output contains the credential', async () => {
    const key = `${tenant.apiKey.slice(0, -4)}AAAA`
    const { code, out, err } = await upload([talk, '--key', key, '--json'])
    expect([code, JSON.parse(out).uploads[0].error.code]).toEqual([1, 'unauthenticated'])
    expect(err).toMatch(/^earshot: talk\.wav: the server answered 401: .*\n$/)
    expect(out + err).not.toContain(key.slice(-30))
  })

  test('and exit code 1 for an unknown folder', async () => {
    const { code, uploads } = await uploadJson(talk, '--folder', crypto.randomUUID())
    expect([code, uploads[0].error.code]).toEqual([1, 'folder_not_found'])
  })
})
