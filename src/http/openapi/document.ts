/**
 * Builds the OpenAPI 3.1 document. `@elysiajs/swagger` collects the routes; then the result is converted from 3.0.3 to
 * 3.1 and completed with the parts that operations share.
 *
 * An operation's parameters and answers are declared with the operation only, not here.
 */
import { Elysia, type InternalRoute } from 'elysia'
import { version } from '../../../package.json'
import type { Config } from '../../kernel/config.ts'
import type { ErrorCatalogue } from '../../platform/errors.ts'
import { API_VERSION_PARAMETER, HEADERS, type HeaderName, SECURITY_SCHEMES, TAGS } from './components.ts'
import { errorSchemas } from './error-schemas.ts'
import { type NamedSchemas, readable } from './schema.ts'
import { type SentRequests, sentSection } from './sent.ts'
import { sharePaths } from './shared.ts'

interface Response31 {
  readonly description: string
  readonly headers?: Record<string, { $ref: string }>
}
interface Operation31 {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string }[]
  readonly tags?: readonly string[]
  readonly responses: Record<string, Response31>
}
type Paths31 = Record<string, Record<string, Operation31>>

/** Headers by status, in addition to those of every response. */
const HEADERS_BY_STATUS: Readonly<Record<string, readonly HeaderName[]>> = {
  '201': ['Location'],
  '401': ['WWW-Authenticate'],
  '405': ['Allow'],
  '429': ['Retry-After'],
}

const RATE_LIMIT_HEADERS: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

const VERSION_HEADERS: readonly HeaderName[] = ['API-Version', 'Deprecation', 'Sunset', 'Link']

/** Builds the document of all routes that are not hidden. */
export async function buildDocument(
  routes: readonly InternalRoute[],
  config: Pick<Config, 'publicBaseUrl'>,
  errors: ErrorCatalogue,
  sent: SentRequests = {},
): Promise<Record<string, unknown>> {
  const schemas: NamedSchemas = {}
  const collected = readable(await collectPaths(routes), schemas) as Paths31
  const webhooks = readable(sentSection(sent), schemas)
  const { paths, components } = sharePaths(withSharedHeaders(collected))
  const used = new Set(
    Object.values(paths).flatMap((item) => Object.values(item).flatMap((one) => one.tags ?? [])),
  )
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: config.publicBaseUrl ?? '/', description: 'This service' }],
    tags: TAGS.filter((tag) => used.has(tag.name)),
    paths,
    ...(Object.keys(sent).length === 0 ? {} : { webhooks }),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...errorSchemas(errors), ...schemas },
      ...components,
      headers: usedHeaders({ paths, components }),
    },
  }
}

const INFO = {
  title: 'Earshot',
  version,
  summary: 'A self-hostable service through which a company hears its customers.',
  description: [
    'Press **Authorize** and paste a credential. The first start writes a set named `demo` to `credentials.json` in the',
    'data folder. The examples work unchanged with it, repeatedly: values that must be new are generated each time.',
    '',
    'Every response has the header `X-Request-Id`. Errors have one shape, `Error`, with a stable `code`.',
  ].join('\n'),
  contact: { name: 'Operator of this service' },
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
}

/**
 * Uses a separate application with the same routes, because the plugin would otherwise serve a page that loads from
 * other hosts.
 */
async function collectPaths(routes: readonly InternalRoute[]): Promise<unknown> {
  const { swagger } = await import('@elysiajs/swagger')
  const app = new Elysia().use(swagger({ path: '/page', specPath: '/document', excludeStaticFile: false }))
  for (const { method, path, hooks } of routes) {
    if (hooks?.detail?.hide !== true && hooks?.detail?.operationId !== undefined)
      app.route(method, path, () => '', { detail: hooks.detail })
  }
  const response = await app.handle(new Request('http://localhost/document'))
  return ((await response.json()) as { paths: unknown }).paths
}

function withSharedHeaders(paths: Paths31): Paths31 {
  return mapValues(paths, (item, path) =>
    mapValues(item, (operation) => {
      if (!path.startsWith('/api')) return withHeaders(operation, [])
      const parameters = [...(operation.parameters ?? []), API_VERSION_PARAMETER]
      return withHeaders({ ...operation, parameters }, VERSION_HEADERS)
    }),
  )
}

function withHeaders(operation: Operation31, more: readonly HeaderName[]): Operation31 {
  const limited = '429' in operation.responses
  return {
    ...operation,
    responses: mapValues(operation.responses, (response, status) => {
      const names: readonly HeaderName[] = [
        'X-Request-Id',
        ...more,
        ...(limited ? RATE_LIMIT_HEADERS : []),
        ...(HEADERS_BY_STATUS[status] ?? []),
      ]
      const headers = Object.fromEntries(
        names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
      )
      return { ...response, headers: { ...headers, ...response.headers } }
    }),
  }
}

function usedHeaders(document: unknown): Record<string, unknown> {
  const text = JSON.stringify(document)
  return Object.fromEntries(
    Object.entries(HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`)),
  )
}

function mapValues<A, B>(record: Record<string, A>, change: (value: A, key: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
