/** JSON requests to the service, repeated until they are answered. Each must be safe to repeat. */
import { failureOf } from './failures.ts'
import { type RetryOptions, retryWithBackoff } from './retry.ts'

const ANSWER_MS = 60_000
/** An address that has never answered may be wrong. A server that has answered is likely to return. */
const GIVE_UP_AFTER_MS = { neverReached: 10_000, reached: 600_000 }

export type Credential =
  | { readonly apiKey: string }
  | { readonly userToken: string }
  | { readonly agentSecret: string }

/** Resolves with the JSON of the answer; null if it has no body. @throws ClientError */
export type Send = <T>(method: string, path: string, body?: unknown) => Promise<T>

/** `url`: scheme, host and optionally a prefix, without a trailing slash. */
export function createSender(
  url: string,
  credential: Credential,
  { signal, onRetry }: Omit<RetryOptions, 'giveUpAfterMs'>,
): Send {
  let hasAnswered = false
  const giveUpAfterMs = () => (hasAnswered ? GIVE_UP_AFTER_MS.reached : GIVE_UP_AFTER_MS.neverReached)
  const headers = { accept: 'application/json', ...headersOf(url, credential) }
  return <T>(method: string, path: string, body?: unknown): Promise<T> =>
    retryWithBackoff(
      async (): Promise<T> => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          // A redirect could send the credential to another host.
          redirect: 'manual',
          signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
        })
        hasAnswered = true
        if (!response.ok) throw await failureOf(response, new Date())
        return (response.status === 204 ? null : await response.json()) as T
      },
      { signal, onRetry, giveUpAfterMs },
    )
}

/**
 * A user's upload belongs to an origin (specification, "Create upload"). The client states the origin of the service.
 */
function headersOf(url: string, credential: Credential): Record<string, string> {
  if ('apiKey' in credential) return { 'x-service-api-key': credential.apiKey }
  if ('agentSecret' in credential) return { 'x-service-agent-key': credential.agentSecret }
  return { authorization: `Bearer ${credential.userToken}`, origin: new URL(url).origin }
}
