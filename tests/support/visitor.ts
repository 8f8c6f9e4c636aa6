/** A browser as far as HTTP goes: it keeps cookies, follows no redirect by itself, and sends `Origin` with forms. */

export interface Seen {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Of a redirect. */
  readonly location: string | null
  readonly setCookies: readonly string[]
}

export interface Visitor {
  readonly cookies: Map<string, string>
  get(path: string, headers?: Record<string, string>): Promise<Seen>
  /** Sends a form from a page of the service. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Seen>
  send(method: string, path: string, init?: RequestInit): Promise<Seen>
  /** Signs in with a link token. */
  signIn(token: string): Promise<void>
  /** `GET /v3/rest/session`: the token against forgery of the session. */
  csrfToken(): Promise<string>
}

/** `path` may be a whole URL of the service. */
export function createVisitor(baseUrl: string): Visitor {
  const cookies = new Map<string, string>()
  const origin = new URL(baseUrl).origin
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Seen> => {
    const headers = new Headers(init.headers)
    if (cookies.size > 0)
      headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await fetch(new URL(path, baseUrl), { ...init, method, headers, redirect: 'manual' })
    const setCookies = response.headers.getSetCookie()
    for (const cookie of setCookies) keep(cookies, cookie)
    const { status } = response
    const location = response.headers.get('location')
    return { status, headers: response.headers, text: await response.text(), location, setCookies }
  }
  const visitor: Visitor = {
    cookies,
    send,
    get: (path, headers = {}) => send('GET', path, { headers }),
    post: (path, fields, headers = {}) =>
      send('POST', path, {
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin, ...headers },
      }),
    async signIn(token) {
      const { status, text } = await visitor.post('/sign-in/link', { token })
      if (status !== 303) throw new Error(`the link did not sign in: ${status} ${text}`)
    },
    async csrfToken() {
      const { status, text } = await visitor.get('/v3/rest/session')
      if (status !== 200) throw new Error(`no session: ${status} ${text}`)
      return JSON.parse(text).csrfToken
    },
  }
  return visitor
}

function keep(cookies: Map<string, string>, setCookie: string): void {
  const [pair = '', ...attributes] = setCookie.split('; ')
  const [name = '', value = ''] = pair.split('=', 2)
  const isGone = attributes.some((one) => /^(?:max-age=0|expires=thu, 01 jan 1970)/i.test(one))
  if (isGone || value === '') cookies.delete(name)
  else cookies.set(name, value)
}
