/** Fetches the metadata documents of clients, which anybody can name, under the outbound policy. */
import { LRUCache } from 'lru-cache'
import type { SendOutbound } from '../../../platform/net/outbound-request.ts'
import { usedDocument } from './metadata.rules.ts'

const DEADLINE_MS = 5_000
const MAX_BYTES = 32 * 1024

/** As long as the library keeps a document that it accepts. */
const REMEMBERED_MS = 30_000
/** With documents at their limits, and addresses as long as a request may name, these take 5 MB. */
const MAX_REMEMBERED = 100

/**
 * @returns a function that resolves with the members of the document that this server uses. The outcome is remembered, a failure
 * too: anybody can name an address, and repeated requests must not become connections to it.
 * @throws PublicFetchError
 */
export function createFetchDocument(send: SendOutbound): (url: string) => Promise<Response> {
  const read = createReadDocument(send)
  const outcomes = new LRUCache<string, ReturnType<typeof read>>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS })
  return async (url) => {
    const outcome = outcomes.get(url) ?? read(url)
    if (!outcomes.has(url)) outcomes.set(url, outcome)
    const document = await outcome
    return document === null ? new Response(null, { status: 502 }) : Response.json(document)
  }
}

function createReadDocument(send: SendOutbound) {
  return async (url: string) => {
    const headers = { accept: 'application/json' }
    const { signal } = new AbortController()
    const limits = { signal, deadlineMs: DEADLINE_MS, maxAnswerBytes: MAX_BYTES }
    const answer = await send(url, { headers, ...limits })
    if (answer.status !== 200 || answer.isCut) return null
    const document: unknown = JSON.parse(new TextDecoder().decode(answer.body))
    return usedDocument(document)
  }
}
