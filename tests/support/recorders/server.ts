/**
 * What the fake recorders share: a real HTTP server on 127.0.0.1 that checks every request and answer against the schema of its project,
 * and can be told to misbehave.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

/** What the server would answer; calling it does the work of the request. */
type Work = () => Promise<Response>

/** Misbehaviour of one request. */
export type Disturbance = (work: Work, request: Request) => Response | Promise<Response>

interface Exchange {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Headers
  readonly body: unknown
}

/** Never answers. The work is done all the same. */
export const loseAnswer: Disturbance = async (work) => {
  await work()
  return silence()
}

/** Does nothing, and never answers. */
export const silence = () => new Promise<Response>(() => {})

export const answerWith =
  (body: ConstructorParameters<typeof Response>[0], init: ResponseInit = {}): Disturbance =>
  () =>
    new Response(body, init)

/** More bytes than anybody wants. */
export const endless: Disturbance = () =>
  new Response(
    new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024).fill(32)),
    }),
    { headers: { 'content-type': 'application/json' } },
  )

export interface FakeServer extends Disposable {
  readonly url: string
  readonly exchanges: readonly Exchange[]
  /** The next request whose `METHOD path` matches is disturbed. */
  disturb(pattern: RegExp, how: Disturbance): void
}

export type Handle = (request: Request, url: URL, body: unknown) => Response | Promise<Response>

export function startFakeServer(handle: Handle): FakeServer {
  const exchanges: Exchange[] = []
  const waiting: { readonly pattern: RegExp; readonly how: Disturbance }[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 30,
    async fetch(request) {
      const url = new URL(request.url)
      const text = await request.text()
      const body = text === '' ? undefined : JSON.parse(text)
      const { method, headers } = request
      exchanges.push({ method, path: `${url.pathname}${url.search}`, headers, body })
      const work = async () => handle(request, url, body)
      const index = waiting.findIndex(({ pattern }) => pattern.test(`${method} ${url.pathname}`))
      const found = index < 0 ? undefined : waiting.splice(index, 1)[0]
      return found === undefined ? work() : found.how(work, request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    exchanges,
    disturb: (pattern, how) => void waiting.push({ pattern, how }),
    [Symbol.dispose]: () => void server.stop(true),
  }
}

export type Validate = (definition: string, value: unknown) => void

/** Throws if the value breaks the definition in the schema document. */
export function createValidate(document: object & { readonly $defs: object }): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  const compiled = new Map<string, ValidateFunction>()
  return (definition, value) => {
    const check = compiled.get(definition) ?? ajv.compile({ $ref: `document#/$defs/${definition}` })
    compiled.set(definition, check)
    if (!check(value))
      throw new Error(`breaks ${definition}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`)
  }
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers })
