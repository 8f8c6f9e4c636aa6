/** An OAuth client of the service's authorization server, as coding agents have them: public, with PKCE. */
import { createVisitor, type Seen, type Visitor } from './visitor.ts'

export const REDIRECT = 'http://127.0.0.1:4711/callback'

export interface OAuthTokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly scope: string
  readonly expires_in: number
}

export interface Proof {
  readonly verifier: string
  readonly challenge: string
}

export function newProof(): Proof {
  const verifier = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
  return { verifier, challenge: new Bun.CryptoHasher('sha256').update(verifier).digest('base64url') }
}

export async function postForm(baseUrl: string, path: string, fields: Record<string, string>) {
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  const body: any = text === '' ? null : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}

export async function register(baseUrl: string, metadata: Record<string, unknown> = {}) {
  const response = await fetch(`${baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Agent', redirect_uris: [REDIRECT], ...metadata }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  const body: any = await response.json()
  return { status: response.status, headers: response.headers, body }
}

export async function registered(baseUrl: string): Promise<string> {
  const { status, body } = await register(baseUrl)
  if (status !== 201) throw new Error(`not registered: ${status} ${JSON.stringify(body)}`)
  return body.client_id
}

/** The authorization request of a client. */
export function authorizePath(clientId: string, challenge: string, change: Record<string, string> = {}) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'state-1',
    ...change,
  })
  for (const [name, value] of [...query]) if (value === '') query.delete(name)
  return `/oauth/authorize?${query}`
}

/** Follows the redirects of the service until it shows a page or leaves it. */
export async function follow(visitor: Visitor, start: Seen, baseUrl: string): Promise<Seen> {
  let seen = start
  while (seen.location !== null) {
    const next = new URL(seen.location, baseUrl)
    if (next.origin !== new URL(baseUrl).origin) return seen
    seen = await visitor.get(next.href)
  }
  return seen
}

const fieldOf = (page: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''

const actionOf = (page: string) => /action="([^"]*)"/.exec(page)?.[1] ?? ''

/** The signed-in user decides on the page of a request. @returns the address that the browser is sent to */
export async function decide(
  visitor: Visitor,
  baseUrl: string,
  path: string,
  decision: 'allow' | 'deny' = 'allow',
): Promise<URL> {
  const page = await follow(visitor, await visitor.get(path), baseUrl)
  if (page.status !== 200) throw new Error(`no page to decide on: ${page.status} ${page.text}`)
  const csrf_token = fieldOf(page.text, 'csrf_token')
  const answer = await visitor.post(actionOf(page.text), { csrf_token, decision })
  const last = await follow(visitor, answer, baseUrl)
  if (last.location === null) throw new Error(`no redirect to the client: ${last.status} ${last.text}`)
  return new URL(last.location)
}

/** A browser in which the user of a link token is signed in. */
export async function signedInVisitor(baseUrl: string, linkToken: string): Promise<Visitor> {
  const visitor = createVisitor(baseUrl)
  await visitor.signIn(linkToken)
  return visitor
}
