/**
 * Sends thousands of generated bodies to every operation that takes one. The answer is never a server error, and always one that
 * the OpenAPI document describes. The operations come from the router, so a new one is covered automatically.
 *
 * The bodies are the same each time. `EARSHOT_FUZZ_SEED` selects others, and `EARSHOT_FUZZ_EACH` sets their number for each operation.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { createRuntime } from '../../src/actors/runtime.ts'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import type { Operation } from '../../src/http/operation.ts'
import { errorCodes } from '../../src/http/operation-detail.ts'
import { problemStatus } from '../../src/http/problem.ts'
import { asOperation } from '../../src/http/website-operation.ts'
import type { ErrorCode } from '../../src/platform/errors.ts'
import { oneOf } from '../../src/platform/validation/schema.ts'
import { bodyOf, EXTREMES } from '../support/body-arbitrary.ts'
import { eventually } from '../support/eventually.ts'
import { createKnownObjects, filledPath, type KnownObjects } from '../support/known-objects.ts'
import { rounds } from '../support/rounds.ts'
import { type Credential, credentialHeaders, startTestServer, type TestServer } from '../support/server.ts'

/** Bodies of each operation. */
const EACH = Number(process.env.EARSHOT_FUZZ_EACH ?? rounds(24, 1_000))
const SEED = Number(process.env.EARSHOT_FUZZ_SEED ?? 1)
/** With so many bodies, one of each operation succeeds. */
const ENOUGH = 150
/** Requests under way at a time. */
const CONCURRENCY = 16

let server: TestServer
let operations: readonly Operation[]
/** Existing objects, by the names of path parameters and members. */
let known: KnownObjects['known']
let credentials: KnownObjects['credentials']

beforeAll(async () => {
  server = await startTestServer({
    env: { DATABASE_POOL_SIZE: '20', PUBLIC_BASE_URL: 'https://earshot.example' },
  })
  const { operations: rest, website } = server.features
  operations = [...rest, ...website.map(asOperation)].filter(({ body }) => body !== undefined)
  ;({ known, credentials } = await createKnownObjects(server))
})
afterAll(() => server?.stop())

const Detail = Type.Object(
  { path: Type.String(), code: oneOf(Object.keys(ERRORS.details)), message: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
)
/** Members that say which object or limit an error means. */
const ErrorMembers = Object.fromEntries(
  Object.entries(ERRORS.members).map(([name, { type }]) => [
    name,
    Type.Optional(type === 'string' ? Type.String() : Type.Integer()),
  ]),
)
/** The members of every failure of the REST API, and no other. */
const RestError = TypeCompiler.Compile(
  Type.Object(
    {
      ...ErrorMembers,
      statusCode: Type.Integer(),
      timestamp: Type.String({ format: 'date-time' }),
      path: Type.String(),
      error: Type.String({ minLength: 1 }),
      code: Type.String(),
      message: Type.String({ minLength: 1 }),
      requestId: Type.String({ minLength: 1 }),
      details: Type.Optional(Type.Array(Detail, { minItems: 1 })),
    },
    { additionalProperties: false },
  ),
)
const Problem = TypeCompiler.Compile(
  Type.Object(
    {
      type: Type.String({ minLength: 1 }),
      title: Type.String({ minLength: 1 }),
      status: Type.Integer(),
      detail: Type.String({ minLength: 1 }),
      instance: Type.String(),
      error: Type.String({ minLength: 1 }),
      code: Type.String(),
      requestId: Type.String({ minLength: 1 }),
      errors: Type.Optional(
        Type.Array(Type.Object({ pointer: Type.String({ pattern: '^#(/|$)' }), detail: Type.String() })),
      ),
    },
    { additionalProperties: false },
  ),
)

interface Request {
  readonly operation: Operation
  readonly path: string
  readonly credential: Credential
  readonly type: string
  readonly bytes: Uint8Array
}

const contentType = fc.oneof(
  { weight: 96, arbitrary: fc.constant('application/json') },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'text/plain',
      'application/json; charset=latin1',
      'application/x+json',
      'multipart/form-data',
      'json',
    ),
  },
)

/** Requests of one operation. */
function requestOf(operation: Operation): fc.Arbitrary<Request> {
  const facts = { schema: operation.body!, example: operation.example, known }
  const filled = filledPath(operation.path, known)
  return fc.record({
    operation: fc.constant(operation),
    path: fc.constant(filled),
    credential: fc.constantFrom(...credentials[operation.access]),
    type: contentType,
    bytes: bodyOf(facts),
  })
}

/** All of them, one operation after the other in turn. */
function* requests(): Generator<Request> {
  const sampled = operations.map((operation, index) =>
    fc.sample(requestOf(operation), { numRuns: EACH, seed: SEED + index }),
  )
  for (let index = 0; index < EACH; index++) for (const list of sampled) yield list[index]!
}

const successes = new WeakMap<TSchema, TypeCheck<TSchema>>()
function successOf(schema: TSchema): TypeCheck<TSchema> {
  const check = successes.get(schema) ?? TypeCompiler.Compile(schema)
  successes.set(schema, check)
  return check
}

/** What is wrong with an answer; null where all is as documented. */
function fault({ operation, path }: Request, response: Response, body: unknown): string | null {
  const { status, schema } = operation.success
  const type = response.headers.get('content-type')
  if (response.status === status) {
    if (type !== 'application/json') return `success as ${type}`
    const check = successOf(schema!)
    if (!check.Check(body)) return `not of its schema: ${JSON.stringify([...check.Errors(body)][0])}`
    const documented = Value.Clean(schema!, structuredClone(body))
    return Bun.deepEquals(documented, body) ? null : 'members that are not documented'
  }
  const isWebsite = path.startsWith('/api/')
  if (type !== (isWebsite ? 'application/problem+json' : 'application/json')) return `failure as ${type}`
  const check: TypeCheck<TSchema> = isWebsite ? Problem : RestError
  if (!check.Check(body)) return `no documented failure: ${JSON.stringify([...check.Errors(body)][0])}`
  const { code, ...members } = body as Record<string, unknown> & { code: ErrorCode }
  const expected = isWebsite ? problemStatus(code, ERRORS) : ERRORS.codes[code]
  if (expected !== response.status || (members.statusCode ?? members.status) !== expected)
    return `${code} with status ${response.status}`
  if (!errorCodes(operation).includes(code)) return `${code} is not documented for this operation`
  if ((members.path ?? members.instance) !== path) return 'another path'
  if (members.requestId !== response.headers.get('x-request-id')) return 'another request id'
  // The service of this test has no recorder, and all requests change the same objects.
  return response.status >= 500 && !['recorder_unavailable', 'object_busy'].includes(code)
    ? 'a server error'
    : null
}

test(`${EACH} generated bodies to every operation that takes one: no server error, no undocumented answer`, async () => {
  const faults: string[] = []
  const statuses = new Map<string, Set<number>>()
  let sent = 0
  const send = async (request: Request) => {
    const { operation, path, credential, type, bytes } = request
    const response = await fetch(`${server.baseUrl}${path}`, {
      method: operation.method,
      headers: { ...credentialHeaders(credential), 'content-type': type },
      body: new Uint8Array(bytes),
    })
    const text = await response.text()
    const wrong = fault(request, response, parsed(text))
    sent++
    statuses.set(operation.id, (statuses.get(operation.id) ?? new Set()).add(response.status))
    if (wrong === null) return
    const body = new TextDecoder().decode(bytes).slice(0, 2_000)
    faults.push(`${operation.id}: ${wrong}\n  sent ${JSON.stringify(body)}\n  got ${text.slice(0, 500)}`)
  }
  const queue = requests()
  const caller = async () => {
    for (const request of queue) if (faults.length < 10) await send(request)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, caller))
  expect(faults).toEqual([])
  expect(sent).toBe(EACH * operations.length)
  // The bodies are neither all bad nor all good, or this test would say little. A few of them may be.
  for (const operation of EACH < ENOUGH ? [] : operations) {
    // A join needs a recorder, a merge needs another person each time, and an import is started once.
    if (['joinMeeting', 'mergePeople', 'previewFeedbackImport'].includes(operation.id)) continue
    const seen = statuses.get(operation.id)
    expect([operation.id, seen?.has(operation.success.status), seen?.has(400)]).toEqual([
      operation.id,
      true,
      true,
    ])
  }
}, 1_200_000)

/** Texts that a number, an id or a time of an address may be. */
const TEXTS: readonly string[] = [
  ...EXTREMES.map(String),
  '9007199254740993',
  '-9223372036854775809',
  '123456789012345678901234567890',
  '1e400',
  'Infinity',
  'NaN',
  '0x10',
  '00',
  '+1',
  '1.5',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31T23:59:60Z',
  '9999-12-31T23:59:59.999999999-12:00',
  '%00',
]

test('extremes in every parameter of an address: no server error', async () => {
  const faults: string[] = []
  const send = async (operation: Operation, path: string) => {
    const [credential] = credentials[operation.access]
    const response = await fetch(`${server.baseUrl}${path}`, {
      method: operation.method,
      headers: { ...credentialHeaders(credential!), 'content-type': 'application/json' },
      ...(operation.body === undefined ? {} : { body: JSON.stringify(operation.example ?? {}) }),
    })
    // A stream has no end.
    await response.body?.cancel()
    if (response.status >= 500 && response.status !== 503)
      faults.push(`${operation.method} ${path}: ${response.status}`)
  }
  const { operations: rest, website } = server.features
  for (const operation of [...rest, ...website.map(asOperation)]) {
    const paths: string[] = []
    for (const text of TEXTS) {
      const value = text.startsWith('%') ? text : encodeURIComponent(text)
      for (const name of Object.keys(operation.params ?? {}))
        paths.push(filledPath(operation.path.replace(`{${name}}`, value), known))
      // With an existing object, only reads: the others would change or delete it.
      if (operation.method === 'GET')
        for (const name of Object.keys(operation.query?.properties ?? {}))
          paths.push(`${filledPath(operation.path, known)}?${name}=${value}`)
    }
    await Promise.all(paths.map((path) => send(operation, path)))
  }
  expect(faults).toEqual([])
}, 600_000)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

test(
  'the actors process everything that was accepted, without a failure',
  async () => {
    const { sql } = server.database
    const runtime = createRuntime(server.deps, server.features.actors)
    await runtime.start()
    try {
      await eventually(
        async () => {
          // Webhooks with generated addresses fail, and are tried again for hours.
          const failed = await sql`
          select key, type, last_error from actor_message where attempts > 0
          union all
          select key, type, last_error from actor_dead_letter
          limit 5`
          expect([...failed]).toEqual([])
          const [due] = await sql`
          select 1 from actor_message
          where available_at <= now() and key not like 'webhook:%'
          limit 1`
          return due === undefined
        },
        { deadlineMs: rounds(150_000, 1_500_000), everyMs: 200 },
      )
    } finally {
      await runtime.stop(5_000)
    }
  },
  rounds(300_000, 1_800_000),
)
