/** Discovery for programs: one operation of the website API and two well-known addresses. */
import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { baseUrlOf } from '../../http/base-url.ts'
import { ok } from '../../http/operation.ts'
import { type WebsiteOperation, websiteOperation } from '../../http/website-operation.ts'
import type { Config } from '../../kernel/config.ts'
import { textResponse } from '../../platform/net/compression.ts'
import { readOnly } from '../../platform/net/methods.ts'
import type { Content } from '../content/service.ts'
import { apiCatalog, CATALOG_TYPE, catalogLinks, discoveryDocument, llmsText } from './documents.ts'
import { Discovery } from './model.ts'

/** `GET /api`, which lists itself and the given operations. */
export function discoveryOperation(
  config: Pick<Config, 'publicBaseUrl'>,
  others: readonly WebsiteOperation[],
): WebsiteOperation {
  const own: WebsiteOperation = websiteOperation({
    id: 'discover',
    method: 'GET',
    path: '/api',
    limit: 'reads',
    summary: 'Discover the website API',
    description: 'Versions, operations and links, for programs that know only the address of the website.',
    query: Type.Object({}),
    success: { status: 200, description: 'Versions, operations and links', schema: Discovery },
    async handler({ request, query }) {
      query()
      return ok(discoveryDocument(baseUrlOf(request, config), [own, ...others]))
    },
  })
  return own
}

/** Any website may read these documents. They do not depend on credentials. */
const PUBLIC = { 'access-control-allow-origin': '*', 'cache-control': 'no-cache' }

/**
 * `/.well-known/api-catalog` and `/llms.txt`.
 * @throws StartError if the pages cannot be read
 */
export function discovery(config: Pick<Config, 'publicBaseUrl'>, content: Content) {
  const pages = content.pages()
  const hidden = { detail: { hide: true } }
  return new Elysia({ name: 'discovery' })
    .get(
      '/.well-known/api-catalog',
      ({ request }) => {
        const base = baseUrlOf(request, config)
        const headers = { ...PUBLIC, 'content-type': CATALOG_TYPE, link: catalogLinks(base) }
        return new Response(JSON.stringify(apiCatalog(base)), { headers })
      },
      hidden,
    )
    .get(
      '/llms.txt',
      ({ request }) => {
        const headers = { ...PUBLIC, 'content-type': 'text/plain; charset=utf-8' }
        return textResponse(request, llmsText(baseUrlOf(request, config), pages), { status: 200, headers })
      },
      hidden,
    )
    .all('/.well-known/api-catalog', readOnly, hidden)
    .all('/llms.txt', readOnly, hidden)
}
