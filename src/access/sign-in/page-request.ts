/** One request to the sign-in pages: its form, its session, its limits, and the answer to an error. */
import type { Context } from 'elysia'
import { baseUrlOf } from '../../http/base-url.ts'
import type { BodyBudget } from '../../http/body-budget.ts'
import { clientIp, countingKey, trustedProxies } from '../../http/client-ip.ts'
import { createCounter } from '../../http/rate-limit.ts'
import { readBytes } from '../../http/read-body.ts'
import { assertNotForged, assertOwnPage, csrfTokenOf, sessionSecretOf } from '../../http/session-cookie.ts'
import type { Deps } from '../../kernel/deps.ts'
import { asCaller } from '../../platform/concurrency/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Identity } from '../identity/service.ts'
import { pageResponse } from './html.ts'
import { errorPage } from './pages.ts'

export type Arrived = Pick<Context, 'request' | 'server'>

const MAX_FORM_BYTES = 16 * 1024
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** The user of the browser. */
export interface Visitor {
  readonly userId: string
  readonly sessionId: string
  readonly csrfToken: string
}

export interface PageRequest {
  readonly request: Request
  /** Scheme, host, port and prefix of this service. */
  readonly baseUrl: string
  /** The path of `baseUrl`. */
  readonly prefix: string
  /** The signed-in user; null if the browser has no valid session. */
  visitor(): Promise<Visitor | null>
  /** The body as sent. @throws AppError 400 */
  bytes(): Promise<Uint8Array>
  /** The form of a page of this service. @throws AppError 403, 413, 415 */
  form(): Promise<URLSearchParams>
  /** The form of a page that was made for the visitor. @throws AppError as `form`; 401 without a session */
  ownForm(): Promise<{ readonly visitor: Visitor; readonly fields: URLSearchParams }>
  /** Counts an attempt of the client. @throws AppError 429 */
  countAttempt(): Promise<void>
}

export type PageRequestDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'log' | 'errors'> & {
  readonly bodies: BodyBudget
  readonly identity: Pick<Identity, 'personBySession'>
}

/** @returns a function that makes a route of a handler; it answers errors that a person can understand with a page */
export function createPageRoutes(deps: PageRequestDeps) {
  const { config, identity, bodies } = deps
  const isTrusted = trustedProxies(config.trustedProxies)
  const count = createCounter(deps, 'sign-in', config.rateLimits.signIn)

  function pageRequestOf({ request, server }: Arrived): PageRequest {
    const baseUrl = baseUrlOf(request, config)
    const client = () => {
      const address = clientIp(server?.requestIP(request)?.address ?? null, request.headers, isTrusted)
      return address === null ? null : countingKey(address)
    }
    const bytes = () =>
      bodies.lease(client() ?? 'sign-in', (lease) => readBytes(request, MAX_FORM_BYTES, lease))
    const readForm = async () => {
      if (!FORM_TYPE.test(request.headers.get('content-type') ?? ''))
        throw new AppError('unsupported_media_type', 'Send the form as application/x-www-form-urlencoded.')
      return new URLSearchParams(new TextDecoder().decode(await bytes()))
    }
    const visitor = async (): Promise<Visitor | null> => {
      const secret = sessionSecretOf(request, config)
      const principal = secret === null ? null : await identity.personBySession(secret)
      if (secret === null || principal === null || 'refused' in principal) return null
      const { userId, sessionId = '' } = principal
      return { userId, sessionId, csrfToken: csrfTokenOf(secret) }
    }
    return {
      request,
      baseUrl,
      prefix: new URL(baseUrl).pathname.replace(/\/$/, ''),
      visitor,
      bytes,
      async form() {
        assertOwnPage(request, config)
        return readForm()
      },
      async ownForm() {
        const found = await visitor()
        if (found === null) throw new AppError('unauthenticated', 'Your session has ended: sign in again.')
        const fields = await readForm()
        assertNotForged(
          request,
          config,
          sessionSecretOf(request, config) ?? '',
          fields.get('csrf_token') ?? '',
        )
        return { visitor: found, fields }
      },
      async countAttempt() {
        const key = client()
        if (key !== null) await count(key)
      },
    }
  }

  return (handle: (pageRequest: PageRequest) => Promise<Response>) => async (arrived: Arrived) => {
    const pageRequest = pageRequestOf(arrived)
    try {
      return await asCaller('sign-in', () => handle(pageRequest))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const page = errorPage(deps.errors.codes[error.code], error.message, pageRequest)
      return pageResponse({ ...page, headers: error.headers }, pageRequest.prefix)
    }
  }
}
