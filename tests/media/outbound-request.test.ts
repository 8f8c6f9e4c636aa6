/** Single requests under the outbound policy: what they send, what they keep of an answer, and which servers they reach. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  createSendOutbound,
  type OutboundAnswer,
  type OutboundRequest,
} from '../../src/platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { PublicFetchError } from '../../src/platform/net/public-error.ts'
import { createResolve } from '../../src/platform/net/resolve.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { type RawExchange, startRawOrigin } from '../support/media.ts'

let dns: DnsServer
const stops: (() => void)[] = []
beforeAll(async () => {
  dns = await startDns()
})
afterAll(() => {
  dns.stop()
  for (const stop of stops) stop()
})

const ALLOWED = '127.9.9.9'

function origin(answer: (exchange: RawExchange) => void, hostname = ALLOWED) {
  const started = startRawOrigin(answer, hostname)
  stops.push(() => started.stop())
  return started
}

let names = 0
function named(...zones: Parameters<DnsServer['set']>[1][]): string {
  const name = `receiver${++names}.example.com`
  dns.set(name, ...zones)
  return name
}

interface Options extends Partial<OutboundRequest> {
  readonly allow?: readonly string[]
}

function send(url: string, { allow = [`${ALLOWED}/32`], ...request }: Options = {}): Promise<OutboundAnswer> {
  const resolve = createResolve({ servers: [dns.address], timeoutMs: 200, tries: 1 })
  const sendOutbound = createSendOutbound({ policy: createOutboundPolicy(allow), resolve })
  const signal = new AbortController().signal
  return sendOutbound(url, { signal, deadlineMs: 5_000, maxAnswerBytes: 100, ...request })
}

/** The code of the failure, `again` if another attempt may succeed; or the status of the answer. */
function outcome(url: string, options?: Options): Promise<string> {
  return send(url, options).then(
    ({ status }) => String(status),
    (error: unknown) => {
      if (!(error instanceof PublicFetchError)) throw error
      return error.retryable ? `${error.code} again` : error.code
    },
  )
}

const answering = (text: string) =>
  origin(({ write, end }) => {
    write(text)
    end()
  })
const ok = () => answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

describe('the head of an answer counts without its body', () => {
  const HEAD = 'HTTP/1.1 410 Gone\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\n'

  test.each([
    ['stalls', `${HEAD}hello`, null],
    ['stalls before its first byte', HEAD, null],
    ['breaks', `${HEAD}hello`, 'end'],
    ['is reset', `${HEAD}hello`, 'reset'],
    [
      'has a broken chunk',
      'HTTP/1.1 410 Gone\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n',
      null,
    ],
  ] as const)('if the body %s and the caller does not need it', async (_, text, close) => {
    const { port } = origin((exchange) => {
      exchange.write(text)
      if (close !== null) setTimeout(() => exchange[close](), 50)
    })
    const url = `http://${ALLOWED}:${port}/`
    const answer = await send(url, { method: 'POST', bodyMs: 300 })
    expect([answer.status, answer.headers.get('retry-after'), answer.isCut]).toEqual([410, '7', true])
    expect('hello').toStartWith(new TextDecoder().decode(answer.body))
    expect(await outcome(url, { deadlineMs: 300 })).toEndWith(' again')
  })

  test('but no head is a failure, and the abort of the caller ends it', async () => {
    const { port } = origin(() => {})
    expect(await outcome(`http://${ALLOWED}:${port}/`, { bodyMs: 100, deadlineMs: 300 })).toBe(
      'transfer_timeout again',
    )
    const stalled = origin(({ write }) => write(HEAD))
    const turn = new AbortController()
    const ended = new Error('the turn ended')
    setTimeout(() => turn.abort(ended), 200)
    const patient = { bodyMs: 60_000, deadlineMs: 60_000, signal: turn.signal }
    await expect(send(`http://${ALLOWED}:${stalled.port}/`, patient)).rejects.toBe(ended)
  })
})

describe('a request', () => {
  test('has the method, headers and body of the caller, and the host of the URL', async () => {
    const { port, requests } = origin(({ write, end }) => {
      write('HTTP/1.1 202 Accepted\r\nX-Seen: yes\r\nContent-Length: 5\r\n\r\nthere')
      end()
    })
    const name = named([ALLOWED])
    const answer = await send(`http://${name}:${port}/hook?a=b`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'user-agent': 'Mine',
        host: 'other',
        'accept-encoding': 'gzip',
      },
      body: '{}',
    })
    expect([
      answer.status,
      answer.headers.get('x-seen'),
      Buffer.from(answer.body).toString(),
      answer.isCut,
    ]).toEqual([202, 'yes', 'there', false])
    const head = requests[0]!.toLowerCase()
    expect(head).toStartWith('post /hook?a=b http/1.1\r\n')
    for (const line of [`host: ${name}:${port}`, 'content-type: application/json', 'user-agent: mine'])
      expect(head).toContain(`${line}\r\n`)
    for (const line of ['accept-encoding: identity', 'connection: close'])
      expect(head).toContain(`${line}\r\n`)
    expect(head).toEndWith('\r\n\r\n{}')
  })

  test('goes to the next address if one refuses the connection', async () => {
    const { port, requests } = ok()
    const url = `http://${named(['127.0.0.3', ALLOWED])}:${port}/`
    expect(await outcome(url, { allow: ['127.0.0.0/8'], method: 'POST', body: 'x' })).toBe('200')
    expect(requests).toHaveLength(1)
  })

  test('is sent once if it may have side effects and the connection breaks', async () => {
    const { port, requests } = origin(({ reset }) => reset(), '0.0.0.0')
    const url = `http://${named(['127.0.0.3', ALLOWED])}:${port}/`
    expect(await outcome(url, { allow: ['127.0.0.0/8'], method: 'POST', body: 'x' })).toBe(
      'url_unreachable again',
    )
    expect(requests).toHaveLength(1)
    await outcome(url, { allow: ['127.0.0.0/8'] })
    expect(requests).toHaveLength(3)
  })
})

describe('the policy', () => {
  test.each([
    [[], 'url_not_allowed', 0],
    [['127.0.0.0/8'], '200', 1],
    [['127.9.9.0/24', '10.0.0.0/8'], '200', 1],
    [['10.0.0.0/8'], 'url_not_allowed', 0],
    [['127.9.9.8/32'], 'url_not_allowed', 0],
  ] as const)('with OUTBOUND_ALLOW %j a request to this machine: %s', async (allow, expected, count) => {
    const { port, requests } = ok()
    expect(await outcome(`http://${ALLOWED}:${port}/`, { allow })).toBe(expected)
    expect(await outcome(`http://${named([ALLOWED])}:${port}/`, { allow })).toBe(expected)
    expect(requests).toHaveLength(count * 2)
  })

  test('holds for every address of a name, at each request', async () => {
    const { port, requests } = ok()
    expect(await outcome(`http://${named([ALLOWED, '10.0.0.1'])}:${port}/`)).toBe('url_not_allowed')
    const moved = named([ALLOWED], ['10.0.0.1'])
    expect(await outcome(`http://${moved}:${port}/`)).toBe('200')
    expect(await outcome(`http://${moved}:${port}/`)).toBe('url_not_allowed')
    expect(requests).toHaveLength(1)
  })

  test('does not relax names and schemes', async () => {
    const { port, requests } = answering('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    for (const url of [
      `http://localhost:${port}/`,
      `http://a@${ALLOWED}:${port}/`,
      `ftp://${ALLOWED}:${port}/`,
    ])
      expect(await outcome(url, { allow: ['0.0.0.0/0', '::/0'] })).toBe('url_not_allowed')
    expect(requests).toEqual([])
  })
})

describe('a redirect', () => {
  const redirecting = (location: string) =>
    answering(`HTTP/1.1 307 T\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)

  test('is an answer like any other by default', async () => {
    const target = ok()
    const { port } = redirecting(`http://${ALLOWED}:${target.port}/`)
    expect(await outcome(`http://${ALLOWED}:${port}/`, { method: 'POST', body: 'x' })).toBe('307')
    expect(target.requests).toEqual([])
  })

  test('is followed if the caller asks for it, without headers at another origin', async () => {
    const target = ok()
    const { port, requests } = redirecting(`http://${ALLOWED}:${target.port}/`)
    const options = { followRedirects: true, headers: { authorization: 'secret' } }
    expect(await outcome(`http://${ALLOWED}:${port}/`, options)).toBe('200')
    expect(requests[0]!.toLowerCase()).toContain('authorization')
    expect(target.requests[0]!.toLowerCase()).not.toContain('authorization')
  })

  test.each(['127.0.0.1', '10.0.0.1', '[::1]', 'localhost', '169.254.169.254'])(
    'from an allowed address to %s is refused',
    async (host) => {
      const { port } = redirecting(`http://${host}:1/`)
      expect(await outcome(`http://${ALLOWED}:${port}/`, { followRedirects: true })).toBe('url_not_allowed')
    },
  )

  test('is followed at most five times', async () => {
    const { port, requests } = redirecting('/again')
    expect(await outcome(`http://${ALLOWED}:${port}/`, { followRedirects: true })).toBe('too_many_redirects')
    expect(requests).toHaveLength(6)
  })
})

describe('an answer', () => {
  test('is cut at the limit, also if it never ends', async () => {
    for (const head of ['Content-Length: 1000000', 'Transfer-Encoding: chunked']) {
      const { port } = origin(({ write }) => {
        write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
        write(head.startsWith('C') ? 'x'.repeat(200) : `c8\r\n${'x'.repeat(200)}\r\n`)
      })
      const answer = await send(`http://${ALLOWED}:${port}/`)
      expect([answer.body.byteLength, answer.isCut]).toEqual([100, true])
    }
  })

  test('of exactly the limit is whole', async () => {
    const { port } = answering(`HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n${'x'.repeat(100)}`)
    const answer = await send(`http://${ALLOWED}:${port}/`)
    expect([answer.body.byteLength, answer.isCut]).toEqual([100, false])
  })

  test.each([
    ['no head', ''],
    ['no end', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'],
  ])('with %s ends at the deadline', async (_, text) => {
    const { port } = origin(({ write }) => write(text))
    expect(await outcome(`http://${ALLOWED}:${port}/`, { deadlineMs: 200 })).toBe('transfer_timeout again')
  })

  test('that trickles ends at the deadline', async () => {
    const { port } = origin(({ write }) => {
      write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
      const timer = setInterval(() => write('x'), 20)
      stops.push(() => clearInterval(timer))
    })
    const options = { deadlineMs: 200, maxAnswerBytes: 1_000_000 }
    expect(await outcome(`http://${ALLOWED}:${port}/`, options)).toBe('transfer_timeout again')
  })

  test('ends where the caller aborts', async () => {
    const controller = new AbortController()
    const { port } = origin(() => controller.abort(new Error('stopped')))
    const failure = await send(`http://${ALLOWED}:${port}/`, { signal: controller.signal }).catch(
      (error) => error,
    )
    expect(failure.message).toBe('stopped')
  })
})
