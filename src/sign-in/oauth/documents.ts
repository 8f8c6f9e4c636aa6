/** Fetches the metadata documents of clients, which anybody can name, under the outbound policy. */
import type { SendOutbound } from '../../platform/net/outbound-request.ts'
import { usedDocument } from './metadata.rules.ts'

const DEADLINE_MS = 5_000
const MAX_BYTES = 32 * 1024

/** A response with the members of the document that this server uses. @throws PublicFetchError */
export function createFetchDocument(send: SendOutbound): (url: string) => Promise<Response> {
  return async (url) => {
    const headers = { accept: 'application/json' }
    const { signal } = new AbortController()
    const limits = { signal, deadlineMs: DEADLINE_MS, maxAnswerBytes: MAX_BYTES }
    const answer = await send(url, { headers, ...limits })
    if (answer.status !== 200 || answer.isCut) return new Response(null, { status: 502 })
    const document: unknown = JSON.parse(new TextDecoder().decode(answer.body))
    return Response.json(usedDocument(document))
  }
}
