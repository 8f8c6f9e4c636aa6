/**
 * Accounts of Intercom and Chatwoot over HTTP, as their published interfaces describe them. A conversation has a question, an internal note
 * and an answer.
 */
export interface FakeConversation {
  readonly id: number
  closed: boolean
  /** Seconds since 1970. */
  changedAt: number
  readonly messages: FakeMessage[]
}

interface FakeMessage {
  readonly id: number
  readonly text: string
  readonly at: number
  readonly by: 'customer' | 'agent' | 'note'
}

export interface FakeHelpDesk {
  readonly url: string
  /** The settings of a source, without its address. */
  readonly settings: Readonly<Record<string, string>>
  readonly conversations: FakeConversation[]
  /** Methods and paths with queries. */
  readonly requests: string[]
  /** The path of a conversation's messages begins so. */
  pathOf(id: number): string
  /** An answer that asks for a pause of so many seconds. */
  limited(seconds: number): Response
  /** Answers instead of the account where it returns an answer. */
  intercept: (path: string) => Response | Promise<Response | null> | null
  stop(): Promise<void>
}

const BASE = Date.UTC(2026, 0, 5, 9) / 1000
const TOKEN = 'access-token'

/** `minutes` after nine o'clock it changed last. */
export function fakeConversation(id: number, minutes = id): FakeConversation {
  const at = BASE + minutes * 60
  return {
    id,
    closed: true,
    changedAt: at,
    messages: [
      { id: id * 1000 + 1, text: `Question ${id}`, at, by: 'customer' },
      { id: id * 1000 + 2, text: `Secret note ${id}`, at, by: 'note' },
      { id: id * 1000 + 3, text: `Answer ${id}`, at, by: 'agent' },
    ],
  }
}

type Account = Pick<FakeHelpDesk, 'settings' | 'pathOf' | 'limited'> & {
  isAllowed(headers: Headers): boolean
  answer(url: URL, method: string, body: string, conversations: readonly FakeConversation[]): Response
}

function start(account: Account): FakeHelpDesk {
  const conversations: FakeConversation[] = []
  const requests: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url)
      requests.push(`${request.method} ${url.pathname}${url.search}`)
      const instead = await fake.intercept(url.pathname)
      if (instead !== null) return instead
      if (!account.isAllowed(request.headers)) return Response.json({ error: 'no' }, { status: 401 })
      return account.answer(url, request.method, await request.text(), conversations)
    },
  })
  const fake: FakeHelpDesk = {
    url: `http://127.0.0.1:${server.port}`,
    settings: account.settings,
    conversations,
    requests,
    pathOf: account.pathOf,
    limited: account.limited,
    intercept: () => null,
    stop: () => server.stop(true),
  }
  return fake
}

const missing = () => Response.json({ error: 'not found' }, { status: 404 })

/** `pageSize`: conversations of a page, fewer than Intercom's. */
export const startFakeIntercom = (pageSize = 3) =>
  start({
    settings: { provider: 'intercom', secret: TOKEN },
    pathOf: (id) => `/conversations/${id}`,
    limited: (seconds) =>
      new Response('{"type":"error.list"}', {
        status: 429,
        headers: { 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + seconds) },
      }),
    isAllowed: (headers) =>
      headers.get('authorization') === `Bearer ${TOKEN}` && headers.get('intercom-version') !== null,
    answer({ pathname, searchParams }, method, body, conversations) {
      if (method === 'POST' && pathname === '/conversations/search')
        return intercomSearch(JSON.parse(body), pageSize, conversations)
      const found = conversations.find(({ id }) => pathname === `/conversations/${id}`)
      if (found === undefined || searchParams.get('display_as') !== 'plaintext') return missing()
      return Response.json(intercomConversation(found))
    },
  })

interface Search {
  readonly query: { readonly field: string; readonly operator: string; readonly value: number }
  readonly sort: { readonly field: string; readonly order: string }
  readonly pagination: { readonly per_page: number; readonly starting_after?: string }
}

function intercomSearch(
  { query, sort, pagination }: Search,
  pageSize: number,
  all: readonly FakeConversation[],
) {
  const isKnown = query.field === 'updated_at' && query.operator === '>' && sort.field === 'updated_at'
  if (!isKnown || sort.order !== 'ascending') return Response.json({ type: 'error.list' }, { status: 400 })
  const [time = '0', id = '0'] = Buffer.from(pagination.starting_after ?? '', 'base64')
    .toString()
    .split('|')
  const behind = all
    .filter(({ changedAt }) => changedAt > query.value)
    .filter((one) => one.changedAt > Number(time) || (one.changedAt === Number(time) && one.id > Number(id)))
    .toSorted((a, b) => a.changedAt - b.changedAt || a.id - b.id)
  const page = behind.slice(0, Math.min(pageSize, pagination.per_page))
  const last = page.at(-1)
  const next =
    last === undefined || behind.length === page.length
      ? {}
      : { next: { page: 2, starting_after: Buffer.from(`${last.changedAt}|${last.id}`).toString('base64') } }
  return Response.json({
    type: 'conversation.list',
    conversations: page.map((one) => ({
      type: 'conversation',
      id: String(one.id),
      updated_at: one.changedAt,
    })),
    pages: { type: 'pages', page: 1, per_page: pageSize, ...next },
  })
}

function intercomConversation({ id, closed, changedAt, messages }: FakeConversation) {
  const [first, ...rest] = messages
  const author = (by: FakeMessage['by']) =>
    by === 'customer'
      ? { type: 'user', id: '5f1', name: 'Ada', email: 'ada@example.com' }
      : { type: 'admin', id: '814860', name: 'Support', email: 'support@example.com' }
  return {
    type: 'conversation',
    id: String(id),
    created_at: first?.at,
    updated_at: changedAt,
    state: closed ? 'closed' : 'open',
    title: null,
    source: {
      id: String(first?.id),
      type: 'conversation',
      body: first?.text,
      subject: '',
      author: author('customer'),
    },
    tags: { type: 'tag.list', tags: [] },
    conversation_parts: {
      type: 'conversation_part.list',
      conversation_parts: [
        ...rest.map(({ id: part, text, at, by }) => ({
          id: String(part),
          part_type: by === 'note' ? 'note' : 'comment',
          body: text,
          created_at: at,
          author: author(by),
        })),
        // Reports that nobody wrote.
        { id: `${id}999`, part_type: 'close', body: null, created_at: changedAt, author: author('agent') },
      ],
    },
  }
}

const ACCOUNT = '7'

/** `pageSize`: conversations of a page, fewer than Chatwoot's. */
export const startFakeChatwoot = (pageSize = 3) =>
  start({
    settings: { provider: 'chatwoot', account: ACCOUNT, secret: TOKEN },
    pathOf: (id) => `/api/v1/accounts/${ACCOUNT}/conversations/${id}/messages`,
    limited: (seconds) =>
      new Response('Retry later\n', { status: 429, headers: { 'retry-after': String(seconds) } }),
    isAllowed: (headers) => headers.get('api_access_token') === TOKEN,
    answer({ pathname, searchParams }, _method, _body, conversations) {
      const list = `/api/v1/accounts/${ACCOUNT}/conversations`
      if (pathname === list) return chatwootList(searchParams, pageSize, conversations)
      const found = conversations.find(({ id }) => pathname === `${list}/${id}/messages`)
      return found === undefined ? missing() : chatwootMessages(searchParams, found)
    },
  })

function chatwootList(query: URLSearchParams, pageSize: number, all: readonly FakeConversation[]): Response {
  const shown = query.get('status') === 'all' ? all : all.filter(({ closed }) => !closed)
  const sorted = shown.toSorted((a, b) => b.changedAt - a.changedAt || b.id - a.id)
  const start = (Number(query.get('page') ?? 1) - 1) * pageSize
  return Response.json({
    data: {
      meta: { all_count: all.length },
      payload: sorted.slice(start, start + pageSize).map(({ id, closed, changedAt }) => ({
        id,
        status: closed ? 'resolved' : 'open',
        last_activity_at: changedAt,
        created_at: changedAt,
        labels: ['import'],
        meta: { sender: { id: 21, name: 'Ada' } },
        messages: [],
      })),
    },
  })
}

function chatwootMessages(query: URLSearchParams, { messages }: FakeConversation): Response {
  const after = query.get('after')
  // Without an id, the last twenty.
  const behind =
    after === null ? messages.slice(-20) : messages.filter(({ id }) => id > Number(after)).slice(0, 100)
  return Response.json({
    meta: {},
    payload: behind.map(({ id, text, at, by }) => ({
      id,
      content: text,
      message_type: by === 'customer' ? 0 : 1,
      private: by === 'note',
      created_at: at,
      sender:
        by === 'customer'
          ? { id: 21, name: 'Ada', email: 'ada@example.com', type: 'contact' }
          : { id: 21, name: 'Support', type: 'user' },
    })),
  })
}
