/**
 * Rate limits per minute: by caller for reads and writes, by application for agent ingestion, by organization for
 * feedback, and by client address for failed authentications.
 *
 * With Redis, all processes share exact counts. Without Redis, or while it is unavailable, each process counts alone,
 * because a limiter must never make the service unavailable. Every counted response states the caller's limits
 * (draft-ietf-httpapi-ratelimit-headers, and the older X-RateLimit-*).
 */

import type { Deps } from '../kernel/deps.ts'
import type { PersonPrincipal, Principal } from '../kernel/principal.ts'
import { AppError } from '../platform/errors.ts'
import { clientIp, countingKey, trustedProxies } from './client-ip.ts'
import type { Operation } from './operation.ts'
import { type Consumed, createWindow } from './rate-window.ts'

/** Window of every limit. */
export const WINDOW_SECONDS = 60

type LimitDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'log'>
type LimitHeaders = Record<string, string>

/** Counts one request of `key`. @returns the headers to send. @throws AppError 429 */
type Count = (key: string) => Promise<LimitHeaders>

export interface Meter {
  readonly count: Count
  /** The headers of `key` without counting a request or refusing it. */
  readonly peek: Count
}

/** The limit of every operation. Public operations have none. */
export function createLimit(deps: LimitDeps) {
  const { reads, writes, agentIngest, feedback, meetingJoins } = deps.config.rateLimits
  const count = {
    reads: createCounter(deps, 'reads', reads),
    writes: createCounter(deps, 'writes', writes),
    'agent-ingest': createCounter(deps, 'agent-ingest', agentIngest),
    feedback: createCounter(deps, 'feedback', feedback),
    meetingJoins: createCounter(deps, 'meeting-joins', meetingJoins),
  }
  return async (
    operation: Operation,
    principal: Principal | PersonPrincipal | null,
  ): Promise<LimitHeaders> => {
    if (principal === null) return {}
    if (principal.kind === 'agent') return count['agent-ingest'](principal.applicationId)
    if (principal.kind === 'person') return count[sideOf(operation)](`person:${principal.userId}`)
    if (operation.limit === 'meetingJoins') return count.meetingJoins(callerKey(principal))
    if (operation.limit !== undefined) return count[operation.limit](principal.organizationId)
    return count[sideOf(operation)](callerKey(principal))
  }
}

const sideOf = ({ method }: Operation) => (method === 'GET' ? 'reads' : 'writes')

function callerKey(principal: Exclude<Principal, { kind: 'agent' }>): string {
  return principal.kind === 'organization'
    ? `key:${principal.apiKeyId}`
    : `user:${principal.organizationId}:${principal.userId}`
}

/**
 * Counts a failed authentication of the client behind `peer`. Only failures are counted and refused: a valid credential
 * continues to work beside an invalid one from the same address. Behind a proxy that is not in `TRUSTED_PROXIES`, all
 * clients have the same address.
 */
export function createFailureLimit(deps: LimitDeps) {
  const count = createCounter(deps, 'failed-authentication', deps.config.rateLimits.failedAuthentication)
  const isTrusted = trustedProxies(deps.config.trustedProxies)
  return async (request: Request, peer: string | null): Promise<LimitHeaders> => {
    const address = clientIp(peer, request.headers, isTrusted)
    return address === null ? {} : count(countingKey(address))
  }
}

/** `limit` requests per minute and key; 0: no limit and no headers. */
export function createCounter(deps: LimitDeps, policy: string, limit: number): Count {
  return createMeter(deps, policy, limit).count
}

/** Like `createCounter`, but can also read the headers without counting. Only tests change the window. */
export function createMeter(
  deps: LimitDeps,
  policy: string,
  limit: number,
  windowSeconds = WINDOW_SECONDS,
): Meter {
  if (limit === 0) return { count: async () => ({}), peek: async () => ({}) }
  const window = createWindow(deps, { policy, limit, windowSeconds })
  const headersOf = ({ remaining, resetMs }: Consumed): LimitHeaders => ({
    'ratelimit-policy': `"${policy}";q=${limit};w=${windowSeconds}`,
    ratelimit: `"${policy}";r=${remaining};t=${seconds(resetMs)}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil((deps.clock.now().getTime() + resetMs) / 1000)),
  })
  return {
    async peek(key) {
      return headersOf(await window.peek(key))
    },
    async count(key) {
      const consumed = await window.consume(key)
      const headers = headersOf(consumed)
      if (consumed.allowed) return headers
      const wait = seconds(consumed.resetMs)
      const period = windowSeconds === WINDOW_SECONDS ? 'a minute' : `in ${windowSeconds} s`
      throw new AppError('rate_limited', `Too many requests: ${limit} ${period}. Try again in ${wait} s.`, {
        headers: { ...headers, 'retry-after': String(wait) },
      })
    },
  }
}

/** Whole seconds until a period has certainly ended, at least 1. */
function seconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}
