/** Which URLs are fetched for a caller and which are refused, with a real DNS server and real origins, all local. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { INGEST_LIMITS } from '../../src/calls/media/ingest.ts'
import { MAX_MEDIA_BYTES } from '../../src/calls/media/rules.ts'
import { createFetchPublic, type FetchPublicOptions } from '../../src/platform/net/fetch-public.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { PublicFetchError } from '../../src/platform/net/public-error.ts'
import { createResolve } from '../../src/platform/net/resolve.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { type RawExchange, startRawOrigin } from '../support/media.ts'
import { rounds } from '../support/rounds.ts'

const PATIENCE = { answerMs: 400, stallMs: 400, stallBytes: 1_000 }
/** The only private address that requests may reach. It stands for the public internet; 127.0.0.1 remains private. */
const PUBLIC = '127.9.9.9'
const allowing = (...blocks: string[]) => createOutboundPolicy(blocks)

let dns: DnsServer
const stops: (() => void)[] = []
beforeAll(async () => {
  dns = await startDns()
})
afterAll(() => {
  dns.stop()
  for (const stop of stops) stop()
})

function origin(answer: (exchange: RawExchange) => void, hostname = PUBLIC) {
  const started = startRawOrigin(answer, hostname)
  stops.push(() => started.stop())
  return started
}

let names = 0
/** Registers a new name with these addresses. */
function named(...zones: Parameters<DnsServer['set']>[1][]): string {
  const name = `host${++names}.example.com`
  dns.set(name, ...zones)
  return name
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\n'
const whole = (text: string) => `${OK}Content-Length: ${text.length}\r\n\r\n${text}`

async function get(url: string, options: Partial<FetchPublicOptions> & { maxBytes?: number } = {}) {
  const { maxBytes = 1_000_000, ...more } = options
  const fetchPublic = createFetchPublic({
    resolve: createResolve({ servers: [dns.address], timeoutMs: 200, tries: 1 }),
    policy: allowing(`${PUBLIC}/32`),
    patience: PATIENCE,
    ...more,
  })
  const signal = new AbortController().signal
  const { url: final, body } = await fetchPublic(url, { signal, maxBytes })
  const chunks = await Array.fromAsync(body)
  return { final, text: Buffer.concat(chunks).toString() }
}

/** The error code; `again` if another attempt may succeed. */
async function failure(url: string, options: Parameters<typeof get>[1] = {}): Promise<string> {
  try {
    await get(url, options)
    return 'success'
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error
    return error.retryable ? `${error.code} again` : error.code
  }
}

describe('the address', () => {
  test('is the checked one; the request has the host of the URL and no data of ours', async () => {
    const { port, requests } = origin(({ write, end }) => {
      write(whole('hello'))
      end()
    })
    const name = named([PUBLIC])
    const { text, final } = await get(`http://${name}:${port}/a%20b?c=d#e`)
    expect(text).toBe('hello')
    expect(final.hostname).toBe(name)
    const [line, ...headers] = requests[0]!.trim().toLowerCase().split('\r\n')
    expect(line).toBe('get /a%20b?c=d http/1.1')
    expect(headers).toContain(`host: ${name}:${port}`)
    const sent = headers.map((header) => header.split(':')[0]!).sort()
    expect(sent).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
  })

  test.each([
    ['private', ['127.0.0.2']],
    ['public and private', [PUBLIC, '127.0.0.2']],
    ['private and public', ['127.0.0.2', PUBLIC]],
    ['public, and private of the other family', [PUBLIC, 'fd00::1']],
    ['public, and its own as an IPv4 address in IPv6', [PUBLIC, '::ffff:7f00:1']],
  ])('is refused where the answer is %s, and nothing is connected to', async (_, addresses) => {
    const { port, requests } = origin(({ end }) => end())
    expect(await failure(`http://${named(addresses)}:${port}/`)).toBe('url_not_allowed')
    expect(requests).toEqual([])
  })

  test('is not resolved again between the check and the connection', async () => {
    const { port } = origin(({ write, end }) => {
      write(whole('public'))
      end()
    })
    const name = named([PUBLIC], ['127.0.0.2'])
    expect((await get(`http://${name}:${port}/`)).text).toBe('public')
    expect(dns.questions.filter((question) => question === `${name} A`)).toHaveLength(1)
    // The name now resolves to another address, which is checked again.
    expect(await failure(`http://${name}:${port}/`)).toBe('url_not_allowed')
  })

  test('must be public by default', async () => {
    const { port, requests } = origin(({ end }) => end())
    const resolve = createResolve({ servers: [dns.address] })
    const fetchPublic = createFetchPublic({ resolve, policy: allowing() })
    const request = { signal: new AbortController().signal, maxBytes: 1 }
    const refused = fetchPublic(`http://${named([PUBLIC])}:${port}/`, request)
    await expect(refused).rejects.toMatchObject({ code: 'url_not_allowed' })
    expect(requests).toEqual([])
  })

  test('falls back to the next one if one does not respond', async () => {
    const { port } = origin(({ write, end }) => {
      write(whole('second'))
      end()
    })
    const policy = allowing('127.0.0.0/8')
    expect((await get(`http://${named(['127.0.0.3', PUBLIC])}:${port}/`, { policy })).text).toBe('second')
  })

  test.each([
    ['no such name', 'url_unreachable'],
    ['nothing', 'url_unreachable'],
    ['failure', 'url_unreachable again'],
    ['silence', 'url_unreachable again'],
  ] as const)('unknown (%s) is %s', async (zone, expected) => {
    expect(await failure(`http://${named(zone)}/`)).toBe(expected)
  })
})

/** Spellings of addresses and names that a redirect must not lead to. */
const FORBIDDEN = [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0x7f.1',
    '017700000001',
    '0',
    '0.0.0.0',
  ],
  ...['10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '192.0.0.1', '192.0.2.1'],
  ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '2852039166'],
  ...['127.0.0.1.', '127。0。0。1', '①②⑦.⓪.⓪.①', '%31%32%37.0.0.1', '0xa9fea9fe', '0251.0376.0251.0376'],
  ...[
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ],
  ...[
    '[2001:0:53aa:64c::]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[fec0::1]',
    '[100::1]',
  ],
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'ｌocalhost',
    'printer.local',
    'metadata.google.internal',
  ],
  ...[
    'user:secret@example.com',
    'user@example.com',
    'localhost6',
    'local',
    'internal',
    'localhost.localdomain',
  ],
]

describe('a redirect', () => {
  test('is followed, also a relative one, and each host is checked again', async () => {
    const { port, requests } = origin(({ head, write, end }) => {
      const path = head.split(' ')[1]
      if (path === '/1')
        write('HTTP/1.1 302 Found\r\nLocation: /2?x=%20\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n')
      else if (path === '/2?x=%20')
        write(`HTTP/1.1 307 T\r\nLocation: //${other}:${port}/3\r\nContent-Length: 4\r\n\r\nbody`)
      else write(whole('there'))
      end()
    })
    const other = named([PUBLIC])
    const { text, final } = await get(`http://${named([PUBLIC])}:${port}/1`)
    expect([text, final.href]).toEqual(['there', `http://${other}:${port}/3`])
    expect(requests.join('').toLowerCase()).not.toContain('cookie')
    expect(requests.join('').toLowerCase()).not.toContain('referer')
  })

  test.each(FORBIDDEN)('to %s is refused', async (host) => {
    const forbidden = origin(({ end }) => end())
    const location = `http://${host}:${forbidden.port}/`
    const { port, requests } = origin(({ write, end }) => {
      const ascii = location.replaceAll(/[^\0-~]/gu, encodeURIComponent)
      write(`HTTP/1.1 302 Found\r\nLocation: ${ascii}\r\nContent-Length: 0\r\n\r\n`)
      end()
    })
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe('url_not_allowed')
    expect([requests.length, forbidden.requests.length]).toEqual([1, 0])
  })

  test.each(['ftp://example.com/', 'file:///etc/passwd', 'data:audio/wav,x', 'gopher://example.com/'])(
    'to %s is refused',
    async (location) => {
      const { port } = origin(({ write, end }) => {
        write(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
        end()
      })
      expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe('url_not_allowed')
    },
  )

  test.each([
    ['/caf\u00e9/\u65e5\u672c.wav', '/caf%C3%A9/%E6%97%A5%E6%9C%AC.wav'],
    ['/caf%C3%A9.wav', '/caf%C3%A9.wav'],
    ['/a b.wav?x=\u00fc', '/a%20b.wav?x=%C3%BC'],
  ])('to %s, in UTF-8 as it is, asks for %s', async (location, asked) => {
    const { port, requests } = origin(({ number, write, end }) => {
      const redirect = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`
      write(Buffer.from(number === 1 ? redirect : whole('there')))
      end()
    })
    expect((await get(`http://${named([PUBLIC])}:${port}/`)).text).toBe('there')
    expect(requests[1]!.split(' ')[1]).toBe(asked)
  })

  test('to a path in Latin-1 is followed as before', async () => {
    const { port, requests } = origin(({ number, write, end }) => {
      const location = Buffer.from('Location: /caf\u00e9\r\n', 'latin1')
      if (number > 1) write(whole('there'))
      else
        write(
          Buffer.concat([
            Buffer.from('HTTP/1.1 302 F\r\nContent-Length: 0\r\n'),
            location,
            Buffer.from('\r\n'),
          ]),
        )
      end()
    })
    await get(`http://${named([PUBLIC])}:${port}/`)
    expect(requests[1]!.split(' ')[1]).toBe('/caf%C3%A9')
  })

  test('to a name with a private address is refused', async () => {
    const inside = named([PUBLIC, '127.0.0.2'])
    const { port, requests } = origin(({ write, end }) => {
      write(`HTTP/1.1 302 Found\r\nLocation: http://${inside}:${port}/\r\nContent-Length: 0\r\n\r\n`)
      end()
    })
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe('url_not_allowed')
    expect(requests).toHaveLength(1)
  })

  test.each([
    [5, 'success'],
    [6, 'too_many_redirects'],
  ])('%d times in a row: %s', async (times, expected) => {
    const { port, requests } = origin(({ number, write, end }) => {
      if (number <= times) write(`HTTP/1.1 301 M\r\nLocation: /${number}\r\nContent-Length: 0\r\n\r\n`)
      else write(whole('there'))
      end()
    })
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe(expected)
    expect(requests).toHaveLength(6)
  })
})

describe('headers of the request', () => {
  test('are sent to the first origin only, but for the range', async () => {
    const elsewhere = origin(({ write, end }) => {
      write('HTTP/1.1 206 P\r\nContent-Type: audio/wav\r\nContent-Length: 1\r\n\r\nx')
      end()
    })
    const { port, requests } = origin(({ head, write, end }) => {
      const location = head.startsWith('GET /1') ? '/2' : `http://${PUBLIC}:${elsewhere.port}/3`
      write(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
      end()
    })
    const fetchPublic = createFetchPublic({ policy: allowing(`${PUBLIC}/32`), patience: PATIENCE })
    const { body } = await fetchPublic(`http://${PUBLIC}:${port}/1`, {
      signal: new AbortController().signal,
      maxBytes: 10,
      headers: { Authorization: 'Token secret', Range: 'bytes=0-' },
    })
    await Array.fromAsync(body)
    expect(requests.map((head) => head.toLowerCase().includes('token secret'))).toEqual([true, true])
    expect(elsewhere.requests).toHaveLength(1)
    expect(elsewhere.requests[0]!.toLowerCase()).toContain('range: bytes=0-')
    expect(elsewhere.requests[0]!.toLowerCase()).not.toContain('authorization')
  })
})

describe('an answer', () => {
  test.each([
    [400, 'url_unreachable'],
    [401, 'url_forbidden'],
    [403, 'url_forbidden'],
    [404, 'url_not_found'],
    [410, 'url_not_found'],
    [206, 'url_unreachable'],
    [304, 'url_unreachable'],
    [408, 'url_unreachable again'],
    [429, 'url_unreachable again'],
    [500, 'url_unreachable again'],
    [503, 'url_unreachable again'],
  ])('%d is %s', async (status, expected) => {
    const { port } = origin(({ write, end }) => {
      write(`HTTP/1.1 ${status} X\r\nContent-Type: audio/wav\r\nContent-Length: 0\r\n\r\n`)
      end()
    })
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe(expected)
  })

  test.each([200, 201, 202, 203, 204, 205, 207, 226])('%d without bytes is an empty body', async (status) => {
    const { port } = origin(({ write, end }) => {
      write(`HTTP/1.1 ${status} X\r\n${status === 204 ? '' : 'Content-Length: 0\r\n'}\r\n`)
      end()
    })
    expect((await get(`http://${named([PUBLIC])}:${port}/`)).text).toBe('')
  })

  test.each([
    'text/html; charset=utf-8',
    'application/x-mpegURL',
    'application/json',
    'audio/x-matroska',
    'image/png',
    'nonsense',
    '',
  ])('may have the type %p', async (type) => {
    const { port } = origin(({ write, end }) => {
      write(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: 1\r\n\r\nx`)
      end()
    })
    expect((await get(`http://${named([PUBLIC])}:${port}/`)).text).toBe('x')
  })

  /** Sends the bytes in pieces of this size. */
  const coded = (coding: string, bytes: Uint8Array, piece = bytes.byteLength) =>
    origin(async ({ write, end }) => {
      write(`${OK}Content-Encoding: ${coding}\r\nContent-Length: ${bytes.byteLength}\r\n\r\n`)
      for (let at = 0; at < bytes.byteLength; at += piece) {
        write(bytes.slice(at, at + piece))
        if (piece === 1) await Bun.sleep(0)
      }
      end()
    })

  test.each([
    'aws-chunked',
    'utf-8',
    'UTF-8',
    'binary',
    'none',
    'identity',
    'identity, aws-chunked',
    'gzip',
    'br',
    'deflate',
    '',
  ])('of plain bytes in the coding %p is taken as it is', async (coding) => {
    for (const text of ['hello', 'h', '']) {
      const { port } = coded(coding, Buffer.from(text))
      expect((await get(`http://${named([PUBLIC])}:${port}/`)).text).toBe(text)
    }
  })

  const zipped = Bun.gzipSync(Buffer.from('hello world'))
  test.each([
    ['gzip', zipped],
    ['GZIP', zipped],
    ['x-gzip', zipped],
    ['gzip,aws-chunked', zipped],
    ['aws-chunked, gzip', zipped],
    ['gzip, gzip', zipped],
    ['gzip, gzip', Bun.gzipSync(zipped)],
  ])('of gzip in the coding %p is decompressed', async (coding, bytes) => {
    for (const piece of [bytes.byteLength, 1]) {
      const { port } = coded(coding, bytes, piece)
      expect((await get(`http://${named([PUBLIC])}:${port}/`)).text).toBe('hello world')
    }
  })

  test('of gzip that ends early is tried again; one that is broken is not', async () => {
    const long = Bun.gzipSync(crypto.getRandomValues(new Uint8Array(50_000)))
    expect(await failure(`http://${named([PUBLIC])}:${coded('gzip', long.slice(0, 30_000)).port}/`)).toBe(
      'url_unreachable again',
    )
    const broken = long.slice()
    broken.set(new Uint8Array(200).fill(0xff), 20_000)
    expect(await failure(`http://${named([PUBLIC])}:${coded('gzip', broken).port}/`)).toBe(
      'unsupported_media_type',
    )
  })

  test('of a little gzip that becomes gigabytes ends at the limit', async () => {
    const bomb = Bun.gzipSync(new Uint8Array(20_000_000))
    expect(await failure(`http://${named([PUBLIC])}:${coded('gzip', bomb).port}/`)).toBe('media_too_large')
  })

  test('of gzip that its reader leaves closes its connection, though more is awaited', async () => {
    const closed = Promise.withResolvers<void>()
    const server = Bun.listen({
      hostname: PUBLIC,
      port: 0,
      socket: {
        data(socket) {
          const part = Bun.gzipSync(crypto.getRandomValues(new Uint8Array(300_000))).slice(0, 200_000)
          socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: 300000\r\n\r\n`)
          socket.write(part)
        },
        close: () => closed.resolve(),
      },
    })
    stops.push(() => server.stop(true))
    const patience = { answerMs: 60_000, stallMs: 60_000, stallBytes: 1_000 }
    const fetchPublic = createFetchPublic({ policy: allowing(`${PUBLIC}/32`), patience })
    const request = { signal: new AbortController().signal, maxBytes: 1_000_000 }
    const { body } = await fetchPublic(`http://${PUBLIC}:${server.port}/`, request)
    for await (const _ of body) break
    await closed.promise
  })

  test('above the size limit is refused by its announced length and while it arrives', async () => {
    const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n`
    for (const head of [`${OK}Content-Length: 11\r\n\r\n`, chunked, `${OK}\r\nhelloworld`]) {
      // The response never ends, so only the eleventh byte can cause the refusal.
      const { port } = origin(({ write }) => {
        write(head)
        if (head === chunked) write('1\r\n!\r\n')
        else if (!head.includes('Length')) write('!')
      })
      expect(await failure(`http://${named([PUBLIC])}:${port}/`, { maxBytes: 10 })).toBe('media_too_large')
    }
    const { port } = origin(({ write, end }) => {
      write(`${chunked}0\r\n\r\n`)
      end()
    })
    expect((await get(`http://${named([PUBLIC])}:${port}/`, { maxBytes: 10 })).text).toBe('helloworld')
  })

  test('above 5 GiB is refused by its announced length', async () => {
    expect(INGEST_LIMITS.maxBytes).toBe(MAX_MEDIA_BYTES)
    expect(MAX_MEDIA_BYTES).toBe(5 * 1024 ** 3)
    const announcing = (length: number) =>
      origin(({ write }) => write(`${OK}Content-Length: ${length}\r\n\r\n`)).port
    const outcome = (length: number) =>
      failure(`http://${named([PUBLIC])}:${announcing(length)}/`, { maxBytes: MAX_MEDIA_BYTES })
    expect(await outcome(MAX_MEDIA_BYTES + 1)).toBe('media_too_large')
    // Its bytes are awaited.
    expect(await outcome(MAX_MEDIA_BYTES)).toBe('transfer_timeout again')
  })

  test('of unknown length is refused when the first byte above the limit arrives', async () => {
    const piece = new Uint8Array(4 * 1024 * 1024)
    const maxBytes = rounds(64 * 1024 * 1024, MAX_MEDIA_BYTES)
    let left = maxBytes + 1
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const size = Math.min(piece.byteLength, left)
      left -= size
      if (size === 0) controller.close()
      else controller.enqueue(piece.subarray(0, size))
    }
    const headers = { 'content-type': 'video/mp4' }
    const server = Bun.serve({
      hostname: PUBLIC,
      port: 0,
      fetch: () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers }),
    })
    stops.push(() => void server.stop(true))
    const fetchPublic = createFetchPublic({
      resolve: createResolve({ servers: [dns.address] }),
      policy: allowing(`${PUBLIC}/32`),
    })
    const request = { signal: new AbortController().signal, maxBytes }
    const { body } = await fetchPublic(`http://${named([PUBLIC])}:${server.port}/`, request)
    const reading = (async () => {
      for await (const _ of body);
    })()
    await expect(reading).rejects.toMatchObject({ code: 'media_too_large', retryable: false })
    expect(left).toBe(0)
  }, 300_000)

  test.each([
    ['never', '', 'transfer_timeout again'],
    ['without an end', `${OK}Content-Length: 9\r\n\r\nhello`, 'transfer_timeout again'],
  ])('that comes %s is waited for only so long', async (_, text, expected) => {
    const { port } = origin(({ write }) => write(text))
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe(expected)
  })

  test('that trickles counts as stalled', async () => {
    const { port } = origin(({ write }) => {
      write(`${OK}Content-Length: 1000000\r\n\r\n`)
      const timer = setInterval(() => write('x'), 20)
      stops.push(() => clearInterval(timer))
    })
    expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe('transfer_timeout again')
  })

  test.each([
    ['before its head', ''],
    ['in its body', `${OK}Content-Length: 9\r\n\r\nhello`],
    ['in a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nhello`],
  ])('cut off %s is tried again', async (_, text) => {
    for (const how of ['end', 'reset'] as const) {
      const { port } = origin((exchange) => {
        exchange.write(text)
        setTimeout(() => exchange[how](), 50)
      })
      expect(await failure(`http://${named([PUBLIC])}:${port}/`)).toBe('url_unreachable again')
    }
  })

  test('of a closed port may be retried', async () => {
    const closed = startRawOrigin(() => {}, PUBLIC)
    closed.stop()
    expect(await failure(`http://${named([PUBLIC])}:${closed.port}/`)).toBe('url_unreachable again')
  })

  test('of a server without a valid certificate is refused', async () => {
    expect(await selfMade(named([PUBLIC]))).toBe('url_unreachable')
  })
})

/** The result for an HTTPS origin with a self-signed certificate. */
async function selfMade(name: string): Promise<string> {
  const { cert, key } = await selfSigned(name)
  const server = Bun.serve({
    hostname: PUBLIC,
    port: 0,
    tls: { cert, key },
    fetch: () => new Response('secret'),
  })
  try {
    return await failure(`https://${name}:${server.port}/`)
  } finally {
    await server.stop(true)
  }
}

async function selfSigned(name: string) {
  const { mkdtempSync, readFileSync, rmSync } = await import('node:fs')
  const folder = mkdtempSync('/tmp/earshot-certificate-')
  const files = ['-keyout', `${folder}/key`, '-out', `${folder}/cert`]
  Bun.spawnSync([
    'openssl',
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    ...files,
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=DNS:${name}`,
  ])
  const found = { key: readFileSync(`${folder}/key`, 'utf8'), cert: readFileSync(`${folder}/cert`, 'utf8') }
  rmSync(folder, { recursive: true })
  return found
}
