/** Media by URL from the request to playback: real HTTP, real workers, a real DNS server, real files. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { quotasOf, setQuotas } from '../../src/access/quotas/service.ts'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { INGEST_LIMITS } from '../../src/calls/media/ingest.ts'
import { mediaMaintenance } from '../../src/calls/media/service.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { eventually } from '../support/eventually.ts'
import { localInternet, type RawExchange, sha256, startRawOrigin, wav } from '../support/media.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const MAX_BYTES = 300_000
const HOST = 'media.example.com'
const SOUND = wav(3)
/** Room for one file with what is encoded from it, and not for two. */
const MOST_OF_ONE = Math.floor(SOUND.byteLength * 1.9)

let server: TestServer
let client: Client
let dns: DnsServer
let runtime: Runtime
const stops: (() => void)[] = []

beforeAll(async () => {
  dns = await startDns()
  dns.set(HOST, ['127.0.0.1'])
  server = await startTestServer()
  client = server.as({ apiKey: (await server.createTenant()).apiKey })
  runtime = await start({})
})
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
  dns?.stop()
  for (const stop of stops) stop()
})

async function start(limits: Partial<typeof INGEST_LIMITS>): Promise<Runtime> {
  const tools = {
    fetchPublic: localInternet(dns.address),
    limits: { ...INGEST_LIMITS, maxBytes: MAX_BYTES, ...limits },
  }
  const started = createRuntime(server.deps, [recordingActor(server.deps, tools)], QUICK)
  await started.start()
  return started
}

/** An origin whose name only the DNS server of the test knows. */
function origin(answer: (exchange: RawExchange) => void) {
  const started = startRawOrigin(answer)
  stops.push(() => started.stop())
  return { ...started, url: `http://${HOST}:${started.port}/talk`, requests: started.requests }
}

const head = (length: number, type = 'application/octet-stream', more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${more}Content-Length: ${length}\r\n\r\n`

/** Sends these bytes in every response. */
const sending = (bytes: Uint8Array, type?: string) =>
  origin(({ write, end }) => {
    write(head(bytes.byteLength, type))
    write(bytes)
    end()
  })

const assetOf = async (id: string) => (await client.get(`${RECORDINGS}/${id}`)).body.asset

async function ended(id: string) {
  return eventually(async () => {
    const asset = await assetOf(id)
    return ['completed', 'failed'].includes(asset.status) && asset
  })
}

async function ingest(url: string) {
  const { id, asset } = await createRecording(client, { assetUrl: url })
  expect(asset.status).toBe('queued')
  return { id: id as string, asset: await ended(id) }
}

const fixture = async (name: string) =>
  new Uint8Array(await Bun.file(join(import.meta.dir, 'fixtures', name)).arrayBuffer())

const temporaryFiles = () => {
  const folder = join(server.deps.config.dataDir, 'tmp')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('media of a URL', () => {
  test('is fetched, examined and played, whole and by Range', async () => {
    const { asset } = await ingest(sending(SOUND).url)
    expect(asset).toMatchObject({
      status: 'completed',
      errorCode: null,
      durationSeconds: 3,
      isAudio: true,
      contentType: 'audio/wav',
      fileSize: SOUND.byteLength,
    })
    // URLs have the address from the settings; the test server uses another port.
    const { pathname, search } = new URL(asset.url)
    const whole = await fetch(`${server.baseUrl}${pathname}${search}`)
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/wav'])
    expect(sha256(await whole.arrayBuffer())).toBe(sha256(SOUND))
    const part = await fetch(`${server.baseUrl}${pathname}${search}`, { headers: { range: 'bytes=100-199' } })
    expect(part.status).toBe(206)
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(SOUND.slice(100, 200))
    expect(temporaryFiles()).toEqual([])
  })

  test.each([
    ['tone.webm', 'audio/webm', true],
    ['picture.webm', 'video/webm', false],
    ['picture.mp4', 'video/mp4', false],
  ])('%s is %s, whatever the origin calls it', async (name, contentType, isAudio) => {
    const { asset } = await ingest(sending(await fixture(name), 'audio/mpeg').url)
    expect(asset).toMatchObject({ status: 'completed', contentType, isAudio })
    expect(asset.durationSeconds).toBeWithin(1, 2)
  })

  test.each(['text/html', ''])('is decided by its bytes beside the type %p', async (type) => {
    expect((await ingest(sending(wav(1), type).url)).asset).toMatchObject({
      status: 'completed',
      contentType: 'audio/wav',
    })
  })

  test('that is stored with gzip is decompressed, and starts over after an interruption', async () => {
    const zipped = Bun.gzipSync(SOUND)
    const { url, requests } = origin(({ number, write, end }) => {
      write(head(zipped.byteLength, 'audio/wav', 'Content-Encoding: gzip\r\nETag: "v1"\r\n'))
      write(number === 1 ? zipped.slice(0, zipped.byteLength / 2) : zipped)
      end()
    })
    const { asset } = await ingest(url)
    expect(asset).toMatchObject({ status: 'completed', contentType: 'audio/wav', fileSize: SOUND.byteLength })
    expect(requests.filter((request) => /^range:/im.test(request))).toEqual([])
  })

  test('shows progress, and does not delay a supplied transcript', async () => {
    const proceed = Promise.withResolvers<void>()
    const { url } = origin(async ({ write, end }) => {
      write(head(SOUND.byteLength))
      write(SOUND.slice(0, 2_000))
      await proceed.promise
      write(SOUND.slice(2_000))
      end()
    })
    const { id } = await createRecording(client, {
      assetUrl: url,
      transcript: [utterance(0, 1, 0, 'The export of the invoices failed again on Monday.')],
    })
    await eventually(async () => (await assetOf(id)).status === 'uploading')
    const { body } = await client.get(`${RECORDINGS}/${id}`)
    expect([body.transcript.status, body.summary]).toEqual(['completed', expect.stringContaining('invoices')])
    expect(body.asset.url).toBeNull()
    proceed.resolve()
    expect((await ended(id)).status).toBe('completed')
  })

  test('is deleted with its recording', async () => {
    const { id } = await ingest(sending(SOUND).url)
    const folder = join(server.deps.config.dataDir, 'media', 'recordings', id)
    expect(readdirSync(folder)).toHaveLength(1)
    expect((await client.delete(`${RECORDINGS}/${id}`)).status).toBe(204)
    for (const task of mediaMaintenance(server.deps)) await task.run(new AbortController().signal)
    expect(existsSync(folder)).toBe(false)
    expect(await server.database.sql`select 1 from media_garbage where recording_id = ${id}`).toHaveLength(0)
  })
})

describe('the URL, which may carry a secret', () => {
  const kept = async (id: string) => {
    const [row] = await server.deps.sql`select asset_source_url as url from recording where id = ${id}`
    return row?.url
  }

  test('is deleted once the media is stored or has failed permanently', async () => {
    const good = await ingest(`${sending(SOUND).url}?signature=secret`)
    expect([good.asset.status, await kept(good.id)]).toEqual(['completed', null])
    const { url } = origin(({ write, end }) => {
      write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
      end()
    })
    const bad = await ingest(`${url}?signature=secret`)
    expect([bad.asset.status, await kept(bad.id)]).toEqual(['failed', null])
  })
})

describe('a transfer', () => {
  test.each([
    [401, 'url_forbidden'],
    [403, 'url_forbidden'],
    [404, 'url_not_found'],
    [410, 'url_not_found'],
  ])('answered with %d fails permanently with %s', async (status, errorCode) => {
    const { url, requests } = origin(({ write, end }) => {
      write(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`)
      end()
    })
    expect((await ingest(url)).asset).toMatchObject({ status: 'failed', errorCode, url: null })
    expect(requests).toHaveLength(1)
  })

  test('to a private address fails permanently', async () => {
    const { url, requests } = origin(({ write, end }) => {
      write(
        'HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n',
      )
      end()
    })
    expect((await ingest(url)).asset).toMatchObject({ status: 'failed', errorCode: 'url_not_allowed' })
    expect(requests).toHaveLength(1)
  })

  test('is retried, and queued meanwhile, after a temporary failure', async () => {
    const troubles: ((exchange: RawExchange) => void)[] = [
      ({ write }) => write('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'),
      ({ write }) => write('HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n'),
      ({ write }) => write(head(0)),
      ({ write }) => write('HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'),
      ({ write }) => write('HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}'),
      ({ write }) => write('HTTP/1.1 204 No Content\r\n\r\n'),
      ({ write }) => write('HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n'),
      ({ reset }) => reset(),
      ({ write }) => {
        write(head(SOUND.byteLength))
        write(SOUND.slice(0, 9_999))
      },
    ]
    const { url, requests } = origin((exchange) => {
      const trouble = troubles[exchange.number - 1]
      if (trouble === undefined) {
        exchange.write(head(SOUND.byteLength))
        exchange.write(SOUND)
      } else trouble(exchange)
      exchange.end()
    })
    const { id, asset } = await ingest(url)
    expect(asset).toMatchObject({ status: 'completed', errorCode: null, fileSize: SOUND.byteLength })
    expect(requests).toHaveLength(troubles.length + 1)
    expect(readdirSync(join(server.deps.config.dataDir, 'media', 'recordings', id))).toHaveLength(1)
  })

  test('resumes after an interruption, using the strong ETag of the received bytes', async () => {
    const { url, requests } = origin(({ head: request, number, write, end }) => {
      const start = Number(/range: bytes=(\d+)-/i.exec(request)?.[1] ?? 0)
      const [status, range] =
        start === 0
          ? ['200 OK', '']
          : ['206 Part', `Content-Range: bytes ${start}-${SOUND.byteLength - 1}/${SOUND.byteLength}\r\n`]
      write(
        `HTTP/1.1 ${status}\r\nContent-Type: audio/wav\r\nETag: "v1"\r\n${range}Content-Length: ${SOUND.byteLength - start}\r\n\r\n`,
      )
      write(SOUND.slice(start, number < 4 ? start + 10_000 : undefined))
      // Bytes not yet read are lost when a connection breaks.
      setTimeout(end, 100)
    })
    const { asset } = await ingest(url)
    const { pathname, search } = new URL(asset.url)
    expect(sha256(await (await fetch(`${server.baseUrl}${pathname}${search}`)).arrayBuffer())).toBe(
      sha256(SOUND),
    )
    expect(requests.map((request) => /^range: (.*)\r$/im.exec(request)?.[1] ?? null)).toEqual([
      null,
      'bytes=10000-',
      'bytes=20000-',
      'bytes=30000-',
    ])
    expect(requests[1]).toMatch(/^if-range: "v1"\r$/im)
  })

  test('starts over if the version has changed', async () => {
    const other = wav(2)
    const { url } = origin(({ number, write, end }) => {
      const bytes = number === 1 ? SOUND : other
      write(head(bytes.byteLength, 'audio/wav', `ETag: "v${number}"\r\n`))
      write(number === 1 ? bytes.slice(0, 40_000) : bytes)
      end()
    })
    expect((await ingest(url)).asset).toMatchObject({ durationSeconds: 2, fileSize: other.byteLength })
  })

  test('above the size limit fails while streaming, and leaves nothing behind', async () => {
    const { url } = origin(({ write }) => {
      write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n')
      write(wav(60))
    })
    const { id, asset } = await ingest(url)
    expect(asset).toMatchObject({ status: 'failed', errorCode: 'media_too_large' })
    expect(temporaryFiles()).toEqual([])
    expect(existsSync(join(server.deps.config.dataDir, 'media', 'recordings', id))).toBe(false)
  })
})

/** A playlist that refers to a local film, which would be played if the playlist were read as one. */
const PLAYLIST = [
  '#EXTM3U',
  '#EXT-X-TARGETDURATION:3',
  '#EXTINF:3,',
  `file://${join(import.meta.dir, 'fixtures', 'picture.mp4')}`,
  '#EXT-X-ENDLIST',
  '',
].join('\n')

const text = (value: string) => new Uint8Array(Buffer.from(value, 'latin1'))

describe('a hostile file', () => {
  test.each([
    ['a page', text('<html>'), 'unsupported_media_type'],
    ['a playlist', text(PLAYLIST), 'unsupported_media_type'],
    ['a list of files', text('ffconcat version 1.0\nfile /etc/passwd\n'), 'unsupported_media_type'],
    [
      'a session description',
      text('v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 0\r\n'),
      'unsupported_media_type',
    ],
    ['a picture', text('\x89PNG\r\n\x1a\n'), 'unsupported_media_type'],
    ['a beginning of sound without any', text('RIFF\xff\xff\xff\x7fWAVEnothing at all'), 'processing_failed'],
    ['a film cut short', text('\0\0\0\x18ftypisom\0\0\0\0isomiso2'), 'processing_failed'],
    ['one byte', text('x'), 'unsupported_media_type'],
    ['an archive', Bun.gzipSync(text('<html>')), 'unsupported_media_type'],
    ['a playlist behind the mark of sound', text(`ID3\x04\0\0\0\0\0\0${PLAYLIST}`), 'unsupported_media_type'],
  ])('(%s) fails with a code', async (_, bytes, errorCode) => {
    expect((await ingest(sending(bytes, 'audio/wav').url)).asset).toMatchObject({
      status: 'failed',
      errorCode,
      url: null,
    })
    expect(temporaryFiles()).toEqual([])
  })
})

test('a page is refused by its first bytes, though it never ends', async () => {
  const { url } = origin(({ write }) => {
    write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n')
    write(`<!doctype html>${' '.repeat(10_000)}`)
  })
  expect((await ingest(url)).asset).toMatchObject({ status: 'failed', errorCode: 'unsupported_media_type' })
})

test('an endless transfer is aborted, even if bytes keep arriving', async () => {
  await runtime.stop(5_000)
  runtime = await start({ maxAgeSeconds: 0, transferMs: 500 })
  const { url } = origin(({ write }) => {
    write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n')
    write(SOUND.slice(0, 100))
    const timer = setInterval(() => write('x'.repeat(500)), 20)
    stops.push(() => clearInterval(timer))
  })
  expect((await ingest(url)).asset).toMatchObject({ status: 'failed', errorCode: 'transfer_timeout' })
  expect(temporaryFiles()).toEqual([])
})

test('a retryable transfer fails at the maximum age, with the code of the last failure', async () => {
  await runtime.stop(5_000)
  runtime = await start({ maxAgeSeconds: 0 })
  const { url } = origin(({ write, end }) => {
    write('HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n')
    end()
  })
  expect((await ingest(url)).asset).toMatchObject({ status: 'failed', errorCode: 'url_unreachable' })
  expect((await ingest(sending(new Uint8Array()).url)).asset).toMatchObject({ errorCode: 'media_empty' })
  expect((await ingest(origin(() => {}).url)).asset).toMatchObject({ errorCode: 'transfer_timeout' })
})

test('kill -9 in the middle of a transfer: another worker retries it', async () => {
  await runtime.stop(5_000)
  const { url, requests } = origin(({ number, write, end }) => {
    write(head(SOUND.byteLength))
    write(number === 1 ? SOUND.slice(0, 10_000) : SOUND)
    if (number > 1) end()
  })
  const script = new URL('support/worker.ts', import.meta.url).pathname
  const { dataDir } = server.deps.config
  const spawn = () => Bun.spawn([process.execPath, script, server.database.url, dns.address, dataDir])
  const first = spawn()
  const { id } = await createRecording(client, { assetUrl: url })
  await eventually(async () => (await assetOf(id)).status === 'uploading')
  first.kill('SIGKILL')
  await first.exited
  expect(temporaryFiles()).toHaveLength(1)
  const second = spawn()
  try {
    expect(await ended(id)).toMatchObject({ status: 'completed', durationSeconds: 3 })
  } finally {
    second.kill('SIGKILL')
    await second.exited
  }
  expect(requests).toHaveLength(2)
  expect(temporaryFiles()).toEqual([])
}, 300_000)

test('the next attempt deletes an object that the previous attempt stored but did not publish', async () => {
  await runtime.stop(5_000)
  const { storage } = server.deps
  let puts = 0
  const losing: typeof storage = {
    ...storage,
    async putFile(...rest) {
      await storage.putFile(...rest)
      if (++puts === 1) throw new Error('the answer of the object store was lost')
    },
  }
  const tools = { fetchPublic: localInternet(dns.address) }
  runtime = createRuntime(server.deps, [recordingActor({ ...server.deps, storage: losing }, tools)], QUICK)
  await runtime.start()
  const { id, asset } = await ingest(sending(SOUND).url)
  // Two copies of the source, and the waveform.
  expect([asset.status, puts]).toEqual(['completed', 3])
  const { sql } = server.database
  const [row] = await sql<{ key: string }[]>`select asset_object_key as key from recording where id = ${id}`
  const folder = join(server.deps.config.dataDir, 'media')
  expect(readdirSync(join(folder, 'recordings', id))).toEqual([row!.key.split('/')[2]!])
  // The other keys stay recorded until every turn of that time must have ended: the attempt might just be slow.
  const entered = await sql<
    { key: string }[]
  >`select object_key as key from media_garbage where recording_id = ${id}`
  expect(entered.map(({ key }) => key)).not.toContain(row!.key)
  expect(entered).toHaveLength(2)
})

test('an attempt whose last transaction fails counts as failed, with the reason', async () => {
  await runtime.stop(5_000)
  const { sql } = server.database
  const { storage } = server.deps
  const swept: typeof storage = {
    ...storage,
    async putFile(key, ...rest) {
      await storage.putFile(key, ...rest)
      await sql`delete from media_garbage where object_key = ${key}`
    },
  }
  const tools = { fetchPublic: localInternet(dns.address) }
  runtime = createRuntime(server.deps, [recordingActor({ ...server.deps, storage: swept }, tools)], QUICK)
  await runtime.start()
  const { id } = await createRecording(client, { assetUrl: sending(SOUND).url })
  const failed = await eventually(async () => {
    const [row] = await sql<{ attempts: number; error: string }[]>`
      select attempts, last_error as error
      from actor_message
      where key = ${`recording:${id}`}
        and attempts > 1`
    return row ?? false
  })
  expect(failed.error).toContain('no longer awaited')
})

describe('the garbage of media', () => {
  const garbage = (key: string) => sql()`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    values (${key}, ${crypto.randomUUID()}, ${crypto.randomUUID()}, now() - interval '1 minute')`
  const sql = () => server.database.sql
  const keys = async () => {
    const rows = await sql()<{ key: string }[]>`
      select object_key as key
      from media_garbage
      where object_key like 'garbage/%'`
    return rows.map(({ key }) => key)
  }
  const clean = async (storage: Partial<typeof server.deps.storage>) => {
    const deps = { ...server.deps, storage: { ...server.deps.storage, ...storage } }
    for (const task of mediaMaintenance(deps)) await task.run(new AbortController().signal)
  }

  test('that cannot be deleted does not block other deletions', async () => {
    await garbage('garbage/locked')
    await garbage('garbage/free')
    const refuse = async ([key]: readonly string[]) => {
      if (key === 'garbage/locked') throw new Error('the object is locked')
    }
    await clean({ delete: refuse })
    expect(await keys()).toEqual(['garbage/locked'])
  })

  test('is deleted only by the process that claims it; media published meanwhile stays', async () => {
    await garbage('garbage/first')
    await garbage('garbage/second')
    const deleted: string[] = []
    await clean({
      async delete(some) {
        deleted.push(...some)
        // A turn that was suspended for hours continues.
        if (some.includes('garbage/first'))
          await sql()`delete from media_garbage where object_key = 'garbage/second'`
      },
    })
    expect(deleted.filter((key) => key.startsWith('garbage/'))).toEqual(['garbage/first'])
  })
})

describe('an assetUrl set on an existing recording', () => {
  beforeAll(async () => {
    await runtime.stop(5_000)
    runtime = await start({})
  })
  const patch = (id: string, assetUrl: string) => client.patch(`${RECORDINGS}/${id}`, { assetUrl })
  const soundOf = async (id: string) => {
    const { pathname, search } = new URL((await assetOf(id)).url)
    return sha256(await (await fetch(`${server.baseUrl}${pathname}${search}`)).arrayBuffer())
  }
  /** No URL is pending. */
  const settled = (id: string) =>
    eventually(async () => {
      const rows = await server.database.sql`
        select 1 from recording where id = ${id} and asset_source_url is not null`
      return rows.length === 0
    })

  test('is fetched if the recording had no media', async () => {
    const { id } = await createRecording(client, {})
    const answer = await patch(id, sending(SOUND).url)
    expect([answer.status, answer.body.asset.status]).toEqual([200, 'queued'])
    expect((await ended(id)).status).toBe('completed')
  })

  test('replaces the media once ready; until then the old media plays', async () => {
    const { id } = await ingest(sending(SOUND).url)
    const other = wav(2)
    const gate = Promise.withResolvers<void>()
    const slow = origin(({ write, end }) => {
      write(head(other.byteLength))
      write(other.slice(0, 1_000))
      void gate.promise.then(() => {
        write(other.slice(1_000))
        end()
      })
    })
    const answer = await patch(id, slow.url)
    expect([answer.status, answer.body.asset.status]).toEqual([200, 'completed'])
    await eventually(() => slow.requests.length === 1)
    expect(await soundOf(id)).toBe(sha256(SOUND))
    const same = await patch(id, slow.url)
    expect(same.status).toBe(200)
    for (const refused of [
      await patch(id, sending(SOUND).url),
      await client.post(`${RECORDINGS}/${id}/uploads`, { fileName: 'a.wav', fileSize: 10 }),
    ])
      expect([refused.status, refused.body.code]).toEqual([409, 'media_ingestion_active'])
    gate.resolve()
    await settled(id)
    expect(await assetOf(id)).toMatchObject({ status: 'completed', errorCode: null, durationSeconds: 2 })
    expect([await soundOf(id), slow.requests.length]).toEqual([sha256(other), 1])
    expect(temporaryFiles()).toEqual([])
  })

  test('that fails keeps the old media and shows the reason', async () => {
    const { id } = await ingest(sending(SOUND).url)
    const missing = origin(({ write, end }) => {
      write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
      end()
    })
    await patch(id, missing.url)
    await settled(id)
    expect(await assetOf(id)).toMatchObject({
      status: 'completed',
      errorCode: 'url_not_found',
      durationSeconds: 3,
    })
    expect(await soundOf(id)).toBe(sha256(SOUND))
    await patch(id, sending(wav(1)).url)
    await settled(id)
    expect(await assetOf(id)).toMatchObject({ status: 'completed', errorCode: null, durationSeconds: 1 })
  })

  test('discards an upload that failed before, so that no retry restores it', async () => {
    const { id } = await createRecording(client, {})
    await client.post(`${RECORDINGS}/${id}/uploads`, { fileName: 'old.wav', fileSize: 10 })
    await server.database.sql`
      update upload set phase = 'failed', error_code = 'processing_failed', bytes_kept = true where recording_id = ${id}`
    await server.database.sql`update recording set asset_status = 'failed' where id = ${id}`
    await patch(id, sending(SOUND).url)
    await settled(id)
    const kept = await server.database.sql`select 1 from upload where recording_id = ${id} and bytes_kept`
    expect([(await assetOf(id)).status, kept.length]).toEqual(['completed', 0])
  })

  test('is refused while an upload is active, and validated as for a new recording', async () => {
    const { id } = await createRecording(client, {})
    await client.post(`${RECORDINGS}/${id}/uploads`, { fileName: 'a.wav', fileSize: 10 })
    expect((await patch(id, sending(SOUND).url)).body.code).toBe('media_ingestion_active')
    expect((await patch(id, 'http://127.0.0.1/a')).body.code).toBe('url_not_allowed')
  })
})

describe('media of an organization with a quota', () => {
  async function openTenant(media: number) {
    const { organizationId, apiKey } = await server.createTenant()
    const { sql } = server.database
    const setQuota = (bytes: number) =>
      setQuotas(sql, organizationId, { media: bytes, events: undefined }, async () => {})
    await setQuota(media)
    const own = server.as({ apiKey })
    const endOf = (id: string) =>
      eventually(async () => {
        const { asset } = (await own.get(`${RECORDINGS}/${id}`)).body
        return ['completed', 'failed'].includes(asset.status) && asset
      })
    const create = async () => {
      const { id } = await createRecording(own, { assetUrl: sending(SOUND).url })
      return id as string
    }
    const used = async () => (await quotasOf(sql, server.deps.config, organizationId)).mediaBytes.used
    return { create, endOf, setQuota, used, organizationId }
  }

  test('fails with quota_exceeded where it does not fit, and can be fetched when the quota is higher', async () => {
    const tenant = await openTenant(SOUND.byteLength - 1)
    const id = await tenant.create()
    expect(await tenant.endOf(id)).toMatchObject({ status: 'failed', errorCode: 'quota_exceeded' })
    expect(await tenant.used()).toBe(0)
    await tenant.setQuota(10 * SOUND.byteLength)
    const [row] = await server.database.sql`select asset_source_url as url from recording where id = ${id}`
    expect(row?.url).toStartWith('http')
  })

  test('of two at once that fit only alone, one fails', async () => {
    // The waveform is not counted; a file that is encoded counts beside its original.
    const tenant = await openTenant(MOST_OF_ONE)
    const ids = await Promise.all([tenant.create(), tenant.create(), tenant.create()])
    const assets = await Promise.all(ids.map(tenant.endOf))
    const codes = assets.map(({ errorCode }) => errorCode ?? 'none').toSorted()
    expect(codes).toEqual(['none', 'quota_exceeded', 'quota_exceeded'])
    expect(await tenant.used()).toBeLessThanOrEqual(MOST_OF_ONE)
  })
})
