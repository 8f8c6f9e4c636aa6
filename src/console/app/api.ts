/** The REST interface as the pages use it: typed by the service's OpenAPI document, with the session of the browser. */
import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from '../../../types/openapi.generated.d.ts'

export type Schemas = components['schemas']

/** The path of `PUBLIC_BASE_URL`, without a trailing slash. */
export const PREFIX = document.documentElement.dataset.prefix ?? ''

/** Why a request failed, in words for a person. */
export class Problem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
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
  const { code = 'unknown', message = `The service answered ${response.status}.` } = detailOf(error)
  throw new Problem(response.status, code, message)
}

function detailOf(error: unknown): { readonly code?: string; readonly message?: string } {
  if (typeof error !== 'object' || error === null || !('error' in error)) return {}
  const detail = error.error
  if (typeof detail === 'string') return { message: detail }
  if (typeof detail !== 'object' || detail === null) return {}
  return {
    ...('code' in detail && typeof detail.code === 'string' ? { code: detail.code } : {}),
    ...('message' in detail && typeof detail.message === 'string' ? { message: detail.message } : {}),
  }
}

/** Leaves for the sign-in page, which leads back here. */
export function signIn(): void {
  const here = `${location.pathname.slice(PREFIX.length)}${location.search}`
  location.assign(`${PREFIX}/sign-in?${new URLSearchParams({ to: here })}`)
}
