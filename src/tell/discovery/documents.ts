/**
 * Documents by which programs discover the service: the discovery document, the API catalogue, and a page for language
 * models.
 *
 * Everything is derived from the mounted operations. `base` is the URL of the service without a trailing slash.
 */
import type { Static } from '@sinclair/typebox'
import { API_VERSIONS } from '../../http/api-version.ts'
import type { WebsiteOperation } from '../../http/website-operation.ts'
import { CONTENT, pagePath } from '../content/model.ts'
import type { Page } from '../content/page.rules.ts'
import type { Discovery } from './model.ts'

const NAME = 'Earshot'
const SUMMARY = 'A self-hostable service through which a company hears its customers.'

const PATHS = {
  self: '/api',
  openapi: '/openapi.json',
  documentation: '/docs',
  catalog: '/.well-known/api-catalog',
  llms: '/llms.txt',
  content: CONTENT,
  health: '/health',
} as const

export function discoveryDocument(
  base: string,
  operations: readonly WebsiteOperation[],
): Static<typeof Discovery> {
  return {
    name: NAME,
    description: SUMMARY,
    versions: API_VERSIONS.map(({ version, released, superseded }) => ({
      version,
      status: superseded === undefined ? ('current' as const) : ('superseded' as const),
      released: released.toISOString().slice(0, 10),
      ...(superseded === undefined ? {} : { sunset: superseded.sunset.toISOString() }),
    })),
    operations: operations.map(({ id, method, path, summary, limit }) => ({
      id,
      method,
      url: `${base}${path}`,
      summary,
      limit,
    })),
    links: {
      self: base + PATHS.self,
      openapi: base + PATHS.openapi,
      documentation: base + PATHS.documentation,
      catalog: base + PATHS.catalog,
      llms: base + PATHS.llms,
      content: base + PATHS.content,
      health: base + PATHS.health,
    },
  }
}

export const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/**
 * A link set (RFC 9264 section 4.2) with one context for the catalogue and one for each API. The REST API has no document at
 * its root. It is not an `item`, because clients would follow that link.
 */
export function apiCatalog(base: string) {
  const described = {
    'service-desc': [{ href: base + PATHS.openapi, type: 'application/json', title: 'OpenAPI 3.1' }],
    'service-doc': [{ href: base + PATHS.documentation, type: 'text/html', title: 'Swagger UI' }],
    status: [{ href: base + PATHS.health, type: 'application/json' }],
  }
  return {
    linkset: [
      {
        anchor: base + PATHS.catalog,
        item: [{ href: base + PATHS.self, type: 'application/json', title: 'Website API' }],
      },
      {
        anchor: base + PATHS.self,
        ...described,
        'service-meta': [{ href: base + PATHS.self, type: 'application/json' }],
      },
      { anchor: `${base}/v3/rest`, ...described },
    ],
  }
}

/** The `Link` header of a `HEAD` request for the catalogue (RFC 9727 section 2). */
export function catalogLinks(base: string): string {
  return [
    `<${base}${PATHS.catalog}>; rel="api-catalog"`,
    `<${base}${PATHS.self}>; rel="item"`,
    `<${base}${PATHS.openapi}>; rel="service-desc"`,
    `<${base}${PATHS.documentation}>; rel="service-doc"`,
  ].join(', ')
}

/** Markdown as in llmstxt.org: a one-sentence summary, then lists of links. */
export function llmsText(base: string, pages: readonly Page[]): string {
  const link = (path: string, title: string, description: string) =>
    `- [${title}](${base}${path}): ${description}`
  return [
    `# ${NAME}`,
    '',
    `> ${SUMMARY}`,
    '',
    'Ask the user before you submit a form. Questions about the pages are answered by `POST /api/assistant` with `{"question": "…"}`.',
    '',
    '## Pages',
    '',
    ...pages.map((page) => link(pagePath(page), page.title, page.description)),
    '',
    '## API',
    '',
    link(PATHS.openapi, 'OpenAPI document', 'every operation of the REST API and the website API'),
    link(PATHS.self, 'Website API', 'its versions and operations: forms, content and the assistant'),
    link(PATHS.catalog, 'API catalogue', 'the APIs of this service as a set of links (RFC 9727)'),
    link(PATHS.documentation, 'Swagger UI', 'the operations for people'),
    '',
  ].join('\n')
}
