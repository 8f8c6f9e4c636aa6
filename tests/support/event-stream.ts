/** A client of `GET /v3/rest/stream`: reads server-sent events as a browser does. */
import { type Credential, credentialHeaders } from './server.ts'

interface StreamedEvent {
  readonly event: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  readonly data: any
}

export interface StreamClient {
  readonly status: number
  readonly headers: Headers
  /** Without `ready` and `reset`, in the order of arrival. */
  readonly events: readonly StreamedEvent[]
  /** Every event. */
  readonly all: readonly StreamedEvent[]
  /** What was received so far. */
  text(): string
  lastEventId(): string
  retryMs(): number | null
  readonly ended: Promise<void>
  close(): Promise<void>
}

export const STREAM = '/v3/rest/stream'

export async function openStream(
  baseUrl: string,
  credential: Credential,
  {
    lastEventId,
    headers = {},
    query = '',
  }: { lastEventId?: string; headers?: Record<string, string>; query?: string } = {},
): Promise<StreamClient> {
  const leaving = new AbortController()
  const response = await fetch(`${baseUrl}${STREAM}${query}`, {
    signal: leaving.signal,
    headers: {
      ...credentialHeaders(credential),
      ...headers,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  })
  const received: string[] = []
  /** The beginning of the next event. */
  let rest = ''
  let lastId = lastEventId ?? ''
  let retry: number | null = null
  const all: StreamedEvent[] = []
  const take = (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
      )
      lastId = fields.get('id') ?? lastId
      if (fields.has('retry')) retry = Number(fields.get('retry'))
      const data = fields.get('data')
      if (data !== undefined)
        all.push({ event: fields.get('event') ?? '', id: lastId, data: JSON.parse(data) })
    }
  }
  const reading = async () => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) {
        const text = decoder.decode(chunk as Uint8Array, { stream: true })
        received.push(text)
        if (response.ok) take(text)
      }
    } catch {
      // The connection was cut.
    }
  }
  const ended = reading()
  return {
    status: response.status,
    headers: response.headers,
    get events() {
      return all.filter(({ event }) => event !== 'ready' && event !== 'reset')
    },
    all,
    text: () => received.join(''),
    lastEventId: () => lastId,
    retryMs: () => retry,
    ended,
    async close() {
      leaving.abort()
      await ended
    },
  }
}
