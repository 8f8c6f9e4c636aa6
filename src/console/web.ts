/**
 * The console at `/console`: one page, which uses the public REST interface only, and its files. `/` leads a browser there and tells
 * other clients where things are.
 */
import { Elysia } from 'elysia'
import { pathOf } from '../http/address.ts'
import { baseUrlOf } from '../http/base-url.ts'
import { type Representation, representation } from '../http/openapi/representation.ts'
import type { Config } from '../kernel/config.ts'
import { readOnly } from '../platform/net/methods.ts'
import { consoleFiles } from './files.ts'
import { ASSETS_PATH, CONSOLE_HEADERS, CONSOLE_PATH, consolePage } from './page.rules.ts'

const HIDDEN = { detail: { hide: true } } as const

/** A name contains the hash of the content: one year, the longest time of RFC 9111 in use. */
const FOR_EVER = 'public, max-age=31536000, immutable'

export function consolePages({ config }: { readonly config: Pick<Config, 'publicBaseUrl'> }) {
  const kept = new Map<string, Representation>()
  const prefixOf = (request: Request) => new URL(baseUrlOf(request, config)).pathname.replace(/\/$/, '')
  const showPage = async ({ request }: { request: Request }) =>
    new Response(consolePage(await consoleFiles(), prefixOf(request)), { headers: CONSOLE_HEADERS })
  return new Elysia({ name: 'console' })
    .get('/', ({ request }) => showIndex(request, prefixOf(request)), HIDDEN)
    .get(CONSOLE_PATH, showPage, HIDDEN)
    .get(`${CONSOLE_PATH}/*`, showPage, HIDDEN)
    .get(`${ASSETS_PATH}/:name`, ({ request, params }) => showFile(request, params.name, kept), HIDDEN)
    .all('/', readOnly, HIDDEN)
    .all(CONSOLE_PATH, readOnly, HIDDEN)
    .all(`${CONSOLE_PATH}/*`, readOnly, HIDDEN)
}

/** A browser goes on to the console. Everybody else gets a small index. */
function showIndex(request: Request, prefix: string): Response {
  const headers = { 'cache-control': 'no-store', vary: 'accept' }
  if (request.headers.get('accept')?.includes('text/html') === true)
    return new Response(null, { status: 303, headers: { ...headers, location: `${prefix}${CONSOLE_PATH}` } })
  const index = {
    name: 'Earshot',
    console: `${prefix}${CONSOLE_PATH}`,
    documentation: `${prefix}/docs`,
    openapi: `${prefix}/openapi.json`,
    health: `${prefix}/health`,
  }
  return Response.json(index, { headers })
}

async function showFile(
  request: Request,
  name: string,
  kept: Map<string, Representation>,
): Promise<Response> {
  const { files } = await consoleFiles()
  const content = Object.hasOwn(files, name) ? files[name] : undefined
  if (content === undefined)
    return Response.json({ error: `${pathOf(request)} does not exist` }, { status: 404 })
  const made = kept.get(name) ?? representation(new TextEncoder().encode(content), headersOf(name))
  kept.set(name, made)
  const response = await made.respond(request)
  response.headers.set('cache-control', FOR_EVER)
  return response
}

function headersOf(name: string): Readonly<Record<string, string>> {
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript'
  return { 'content-type': `${type}; charset=utf-8`, 'x-content-type-options': 'nosniff' }
}
