/** The REST interface as the pages use it: typed by the service's OpenAPI document, with the session of the browser. */
import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from '../../../types/openapi.generated.d.ts'

export type Schemas = components['schemas']

/** The path of `PUBLIC_BASE_URL`, without a trailing slash. */
export const PREFIX = document.documentElement.dataset.prefix ?? ''

export interface ProblemDetail {
  readonly path: string
  readonly message: string
}

/** Why a request failed, in words for a person. */
export class Problem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** What is wrong with single members of the request. */
    readonly details: readonly ProblemDetail[] = [],
    /** What was asked for. */
    readonly url: string | null = null,
  ) {
    super(message)
  }
}

/** What a request of this session carries. Set once by `session.ts`. */
export const credentials = { csrfToken: '', organizationId: '' }

const session: Middleware = {
  onRequest({ request }) {
    if (credentials.organizationId !== '')
      request.headers.set('x-service-organization-key', credentials.organizationId)
    if (request.method !== 'GET') request.headers.set('x-csrf-token', credentials.csrfToken)
    return request
  },
}

export const api = createClient<paths>({ baseUrl: PREFIX })
api.use(session)

interface Answer<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/**
 * The content of a successful answer. Without a session the browser goes to the sign-in page.
 * @throws Problem
 */
export async function contentOf<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked.catch((cause: unknown) => {
    if (cause instanceof Error && cause.name === 'AbortError') throw cause
    throw new Problem(0, 'unreachable', 'The service cannot be reached.')
  })
  if (response.ok) return data as T
  if (response.status === 401) signIn()
  const { code, message, details } = refusalOf(error)
  throw new Problem(
    response.status,
    code ?? 'unknown',
    message ?? `The service answered ${response.status}.`,
    details,
    response.url,
  )
}

/** The members of an error of the API. A proxy in between may answer with something else. */
function refusalOf(error: unknown): Partial<Pick<Schemas['Error'], 'code' | 'message' | 'details'>> {
  const isRefusal = typeof error === 'object' && error !== null && 'code' in error && 'message' in error
  return isRefusal ? (error as Schemas['Error']) : {}
}

/** Leaves for the sign-in page, which leads back here. */
function signIn(): void {
  const here = `${location.pathname.slice(PREFIX.length)}${location.search}`
  location.assign(`${PREFIX}/sign-in?${new URLSearchParams({ to: here })}`)
}
