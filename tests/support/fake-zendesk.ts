/**
 * A Zendesk account over HTTP: the cursor-based incremental ticket export and ticket comments, as developer.zendesk.com describes them,
 * with API tokens, cursor pagination, side-loaded users and limits (429 with `Retry-After`).
 */
export interface FakeTicket {
  id: number
  status: string
  updated_at: string
  requester_id: number
  subject: string
  tags: string[]
  comments: FakeComment[]
}

interface FakeComment {
  id: number
  author_id: number
  public: boolean
  body: string
  created_at: string
}

export interface FakeZendesk {
  readonly url: string
  readonly tickets: FakeTicket[]
  /** Paths with queries, in the order of the requests. */
  readonly requests: string[]
  /** Answers instead of the account where it returns an answer. `number`: of the request, from 1. */
  intercept: (path: string, number: number) => Response | Promise<Response | null> | null
  stop(): Promise<void>
}

export const AGENT_EMAIL = 'agent@example.com'
export const API_TOKEN = 'token-of-the-agent'

const USERS = [
  { id: 11, name: 'Ada', email: 'ada@example.com', role: 'end-user' },
  { id: 12, name: 'Grace', email: 'grace@example.com', role: 'end-user' },
  { id: 91, name: 'Support', email: 'support@example.com', role: 'agent' },
]

const at = (minutes: number) => new Date(Date.UTC(2026, 0, 5, 9, minutes)).toISOString().replace('.000Z', 'Z')

/** A solved ticket with a question, an internal note and an answer. */
export function fakeTicket(id: number, changed = id): FakeTicket {
  return {
    id,
    status: 'solved',
    updated_at: at(changed),
    requester_id: 11 + (id % 2),
    subject: `Ticket ${id}`,
    tags: ['export'],
    comments: [
      { id: id * 10 + 1, author_id: 11 + (id % 2), public: true, body: `Question ${id}`, created_at: at(id) },
      { id: id * 10 + 2, author_id: 91, public: false, body: `Secret note ${id}`, created_at: at(id) },
      { id: id * 10 + 3, author_id: 91, public: true, body: `Answer ${id}`, created_at: at(id) },
    ],
  }
}

/** `pageSize`: tickets of a page, fewer than Zendesk's. */
export function startFakeZendesk(pageSize = 3, commentsPerPage = 2): FakeZendesk {
  const tickets: FakeTicket[] = []
  const requests: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search, searchParams } = new URL(request.url)
      requests.push(`${pathname}${search}`)
      const instead = await fake.intercept(pathname, requests.length)
      if (instead !== null) return instead
      const expected = `Basic ${Buffer.from(`${AGENT_EMAIL}/token:${API_TOKEN}`).toString('base64')}`
      if (request.headers.get('authorization') !== expected)
        return Response.json({ error: "Couldn't authenticate you" }, { status: 401 })
      const ticketId = /^\/api\/v2\/tickets\/(\d+)\/comments\.json$/.exec(pathname)?.[1]
      if (pathname === '/api/v2/incremental/tickets/cursor.json') return exported(searchParams)
      const ticket = tickets.find(({ id }) => id === Number(ticketId))
      if (ticket === undefined) return Response.json({ error: 'RecordNotFound' }, { status: 404 })
      return commentsOf(ticket, searchParams)
    },
  })

  function exported(query: URLSearchParams): Response {
    const cursor = query.get('cursor')
    const start = query.get('start_time')
    // A request begins at a time or behind a cursor, never both.
    if ((cursor === null) === (start === null))
      return Response.json({ error: 'InvalidValue' }, { status: 400 })
    const from = cursor === null ? `${Number(start) - 1}|` : Buffer.from(cursor, 'base64').toString()
    const [time = '0', id = '0'] = from.split('|')
    const changed = (ticket: FakeTicket) => Date.parse(ticket.updated_at) / 1000
    const behind = tickets
      .filter((one) => changed(one) > Number(time) || (changed(one) === Number(time) && one.id > Number(id)))
      .toSorted((a, b) => changed(a) - changed(b) || a.id - b.id)
    const page = behind.slice(0, Math.min(pageSize, Number(query.get('per_page') ?? 1000)))
    const last = page.at(-1)
    const after = last === undefined ? null : Buffer.from(`${changed(last)}|${last.id}`).toString('base64')
    return Response.json({
      tickets: page.map(({ comments: _, ...ticket }) => ({ ...ticket, url: `x/${ticket.id}.json` })),
      after_cursor: after ?? cursor,
      after_url: after === null ? null : 'http://169.254.169.254/never-followed',
      before_cursor: null,
      end_of_stream: behind.length <= page.length,
    })
  }

  function commentsOf({ comments }: FakeTicket, query: URLSearchParams): Response {
    const begin = Number(query.get('page[after]') ?? 0)
    const end = begin + Math.min(commentsPerPage, Number(query.get('page[size]') ?? 100))
    const page = comments.slice(begin, end)
    const authors = new Set(page.map(({ author_id }) => author_id))
    return Response.json({
      comments: page.map((comment) => ({
        ...comment,
        type: 'Comment',
        plain_body: comment.body,
        html_body: `<p>${comment.body}</p>`,
      })),
      ...(query.get('include') === 'users' ? { users: USERS.filter(({ id }) => authors.has(id)) } : {}),
      meta: { has_more: end < comments.length, after_cursor: String(end), before_cursor: '0' },
    })
  }

  const fake: FakeZendesk = {
    url: `http://127.0.0.1:${server.port}`,
    tickets,
    requests,
    intercept: () => null,
    stop: () => server.stop(true),
  }
  return fake
}
