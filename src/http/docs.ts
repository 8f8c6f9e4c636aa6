/**
 * `/openapi.json` and Swagger UI at `/docs`. Each is built on its first request and then cached, because routes do not
 * change while the service runs.
 */
import { Elysia, type InternalRoute } from 'elysia'
import type { Config } from '../kernel/config.ts'
import type { ErrorCatalogue } from '../platform/errors.ts'
import { readOnly } from '../platform/net/methods.ts'
import { pathOf } from './address.ts'
import { buildDocument } from './openapi/document.ts'
import { type Representation, representation } from './openapi/representation.ts'
import type { SentRequests } from './openapi/sent.ts'
import { ASSETS, contentSecurityPolicy, PAGE } from './openapi/ui.ts'

interface DocsDeps {
  readonly config: Pick<Config, 'publicBaseUrl'>
  readonly errors: ErrorCatalogue
  /** Requests that the service sends. */
  readonly sent?: SentRequests
}

/** The documentation of every route of the application that uses this plugin. */
export function docs({ config, errors, sent = {} }: DocsDeps) {
  const kept = new Map<string, Promise<Representation>>()
  const keep = (name: string, make: () => Promise<Representation>) => {
    const made = kept.get(name) ?? make()
    kept.set(name, made)
    return made
  }
  const app = new Elysia({ name: 'docs' })
  const hidden = { detail: { hide: true } }
  const origin = config.publicBaseUrl === null ? null : new URL(config.publicBaseUrl).origin
  // The routes of the whole application. TypeScript exposes them to subclasses only; the swagger plugin reads them in
  // the same way.
  const routes = () => (app as unknown as { getGlobalRoutes(): InternalRoute[] }).getGlobalRoutes()
  app.get(
    '/openapi.json',
    async ({ request }) => {
      const document = await keep('openapi.json', async () =>
        representation(encode(JSON.stringify(await buildDocument(routes(), config, errors, sent))), {
          'content-type': 'application/json',
          'access-control-allow-origin': '*',
        }),
      )
      return document.respond(request)
    },
    hidden,
  )
  app.get(
    '/docs',
    async ({ request }) => {
      // The page's links are relative to its address without a trailing slash.
      if (pathOf(request).endsWith('/'))
        return new Response(null, { status: 308, headers: { location: '../docs' } })
      const page = await keep('page', async () =>
        representation(encode(PAGE), {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': contentSecurityPolicy(origin),
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        }),
      )
      return page.respond(request)
    },
    hidden,
  )
  app.all('/openapi.json', readOnly, hidden)
  app.all('/docs', readOnly, hidden)
  for (const [name, { type, read }] of Object.entries(ASSETS)) {
    const load = async () =>
      representation(await read(), { 'content-type': type, 'x-content-type-options': 'nosniff' })
    app.get(`/docs/${name}`, async ({ request }) => (await keep(name, load)).respond(request), hidden)
    app.all(`/docs/${name}`, readOnly, hidden)
  }
  return app
}

const encode = (text: string) => new TextEncoder().encode(text)
