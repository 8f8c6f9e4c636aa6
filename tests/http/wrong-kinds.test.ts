/**
 * Puts a value of a wrong kind into every member of every body and into every query parameter. The error states the rule in words.
 * Members come from the schemas of the router's operations, so a new operation is covered automatically.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Kind, type TSchema } from '@sinclair/typebox'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import type { Operation } from '../../src/http/operation.ts'
import { asOperation } from '../../src/http/website-operation.ts'
import type { ErrorDetail } from '../../src/platform/errors.ts'
import { createKnownObjects, filledPath, type KnownObjects } from '../support/known-objects.ts'
import { credentialHeaders, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let objects: KnownObjects

beforeAll(async () => {
  server = await startTestServer({ env: { PUBLIC_BASE_URL: 'https://earshot.example' } })
  objects = await createKnownObjects(server)
})
afterAll(() => server?.stop())

const everyOperation = (): readonly Operation[] => [
  ...server.features.operations,
  ...server.features.website.map(asOperation),
]

/** One of every JSON type, and texts that no pattern, format or list of words takes. */
const WRONG_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  '',
  ' ',
  '\u0001 ?',
  'x'.repeat(5_000),
  [],
  {},
  [[]],
  [{}],
]

/** What must not stand in a message: the words of the validator, and signs of a regular expression. */
const JARGON =
  /union|expected|literal|schema|typebox|\bUnsafe\b|regex|pattern|\\[sdwSDWu]|\^|\[\^|\(\?|\{\d+,/i

type Path = readonly (string | number)[]

/** Every place of a schema: members, items, and what stands in alternatives. */
function* places(schema: TSchema, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  for (const option of (schema.anyOf ?? []) as TSchema[])
    yield* [...places(option, path)].slice(path.length > 0 ? 1 : 0)
  if (schema.type === 'object')
    for (const [name, member] of Object.entries((schema.properties ?? {}) as Record<string, TSchema>))
      yield* places(member, [...path, name])
  if (schema.type === 'array') yield* places(schema.items, [...path, 0])
}

/** A copy of `root` with `value` at the place; what leads there is made. */
function withValueAt(root: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  const present =
    root !== null && typeof root === 'object' ? (root as Record<string | number, unknown>)[step] : undefined
  const inner = withValueAt(present, rest, value)
  if (typeof step === 'number') return [inner]
  return { ...(typeof root === 'object' && !Array.isArray(root) ? root : {}), [step]: inner }
}

/** What is wrong with the findings of an answer. */
function faults(details: readonly ErrorDetail[] | undefined, message: string): readonly string[] {
  const bad = [message, ...(details ?? []).map((detail) => detail.message)].filter((text) =>
    JARGON.test(text.replaceAll('redactedPatterns', '')),
  )
  const codes = (details ?? []).map(({ code }) => code).filter((code) => !(code in ERRORS.details))
  const rules = (details ?? [])
    .map((detail) => detail.message)
    .filter((text) => !/^(?:must|is|has|overlaps|asks)\b/.test(text))
  return [...bad, ...codes, ...rules]
}

describe('a value of the wrong type', () => {
  test('in any body member gets a readable error', async () => {
    const operations = everyOperation().filter(({ body }) => body !== undefined)
    expect(operations.length).toBeGreaterThan(10)
    const wrong = new Set<string>()
    let refused = 0
    for (const operation of operations) {
      const url = `${server.baseUrl}${filledPath(operation.path, objects.known)}`
      const headers = {
        ...credentialHeaders(objects.credentials[operation.access][0]!),
        'content-type': 'application/json',
        'x-request-id': 'wrong-kinds',
      }
      const bodies = [...places(operation.body!)].flatMap((path) =>
        WRONG_VALUES.map((value) => ({ path, body: withValueAt(operation.example, path, value) })),
      )
      const send = async ({ path, body }: (typeof bodies)[number]) => {
        const response = await fetch(url, { method: operation.method, headers, body: JSON.stringify(body) })
        const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>
        // The service of this test has no recorder.
        if (response.status >= 500 && answer.code !== 'recorder_unavailable')
          wrong.add(`${operation.id} ${path.join('.')}: ${response.status}`)
        if (response.status !== 400) return
        refused++
        const problems = answer.errors as { pointer: string; detail: string }[] | undefined
        const details = (answer.details ??
          problems?.map(({ pointer, detail }) => ({ path: pointer, code: 'type', message: detail }))) as
          | ErrorDetail[]
          | undefined
        for (const fault of faults(details, String(answer.message ?? answer.detail)))
          wrong.add(`${operation.id} ${path.join('.')}: ${fault}`)
      }
      for (let at = 0; at < bodies.length; at += 16) await Promise.all(bodies.slice(at, at + 16).map(send))
    }
    expect([...wrong]).toEqual([])
    expect(refused).toBeGreaterThan(500)
  }, 300_000)

  test('in any query parameter gets a readable error', async () => {
    const wrong = new Set<string>()
    let refused = 0
    for (const operation of everyOperation()) {
      for (const name of Object.keys(operation.query?.properties ?? {})) {
        for (const value of ['nope', '', '-1', 'null', '1.5', '[]']) {
          const path = filledPath(operation.path, objects.known)
          const headers = credentialHeaders(objects.credentials[operation.access][0]!)
          const response = await fetch(`${server.baseUrl}${path}?${name}=${value}`, {
            method: operation.method,
            headers,
          })
          if (response.status !== 400) continue
          refused++
          const { details, message } = (await response.json()) as { details: ErrorDetail[]; message: string }
          for (const fault of faults(details, message)) wrong.add(`${operation.id} ${name}: ${fault}`)
        }
      }
    }
    expect([...wrong]).toEqual([])
    expect(refused).toBeGreaterThan(50)
  }, 300_000)
})

describe('a schema', () => {
  /** Every schema of a request. */
  function* schemas(schema: TSchema): Generator<TSchema> {
    yield schema
    const inner: unknown[] = [
      ...((schema.anyOf as unknown[] | undefined) ?? []),
      ...Object.values((schema.properties as object | undefined) ?? {}),
      ...Object.values((schema.patternProperties as object | undefined) ?? {}),
      ...(schema.items === undefined ? [] : [schema.items]),
    ]
    for (const one of inner as TSchema[]) yield* schemas(one)
  }

  test('with a pattern explains the pattern in words', () => {
    const silent = everyOperation().flatMap(({ id, body, query }) =>
      [body, query]
        .flatMap((schema) => (schema === undefined ? [] : [...schemas(schema)]))
        .filter((schema) => schema.pattern !== undefined && typeof schema.words !== 'string')
        .map((schema) => `${id}: ${schema[Kind]} ${schema.pattern} needs \`words\``),
    )
    expect(silent).toEqual([])
  })
})

describe('a member that may be null or of several types', () => {
  test.each([
    [
      'POST',
      '/v3/rest/agent-applications',
      'organization',
      { agentKey: 'k', name: 'K', settings: { retentionDays: 'x' } },
      'settings.retentionDays',
      'type',
      'must be an integer from 1 to 3650, or null',
    ],
    [
      'POST',
      '/v3/rest/agent-applications',
      'organization',
      { agentKey: 'k', name: 'K', settings: { retentionDays: 0 } },
      'settings.retentionDays',
      'range',
      'must be an integer from 1 to 3650',
    ],
    [
      'PATCH',
      '/v3/rest/recordings/{recordingId}',
      'organization',
      { summary: 5 },
      'summary',
      'type',
      'must be a string of 1 to 100000 characters, or null',
    ],
    [
      'POST',
      '/v3/rest/recordings',
      'organization',
      { assetUrl: 5 },
      'assetUrl',
      'type',
      'must be an absolute URL, or null',
    ],
    [
      'POST',
      '/v3/rest/feedback-sources/{feedbackSourceId}/records',
      'organization',
      { fields: [], person_id: 'x' },
      'person_id',
      'type',
      'must be an integer from 1 to 9007199254740991, or null',
    ],
    [
      'POST',
      '/v3/rest/feedback-sources/{feedbackSourceId}/records',
      'organization',
      { fields: [], external_id: 5 },
      'external_id',
      'type',
      'must be a string of 1 to 255 characters, or null',
    ],
    [
      'PUT',
      '/v3/rest/people',
      'organization',
      { email: 'a@example.com', company: 'x' },
      'company',
      'type',
      'must be an object, or null',
    ],
    [
      'PUT',
      '/v3/rest/people',
      'organization',
      { email: 'a@example.com', company: { domain: 5 } },
      'company.domain',
      'type',
      'must be a domain such as example.com, without scheme, port or path, or null',
    ],
    [
      'PUT',
      '/v3/rest/people',
      'organization',
      { email: 'a@example.com', company: { domain: 'no domain' } },
      'company.domain',
      'pattern',
      'must be a domain such as example.com, without scheme, port or path',
    ],
    [
      'PUT',
      '/v3/rest/people',
      'organization',
      { email: 'a@example.com', boundary: 'x' },
      'boundary',
      'not_allowed',
      'must be one of "external", "internal", or null',
    ],
    [
      'POST',
      '/v3/rest/agent-conversations/ingest',
      'agent',
      {
        agentKey: 'demo',
        externalSessionId: 's',
        events: [
          {
            externalEventId: 'e',
            sequence: 1,
            revision: 1,
            occurredAt: '2026-01-01T00:00:00Z',
            type: 'user_message',
            content: 5,
          },
        ],
      },
      'events[0].content',
      'type',
      'must be a string, an array, or an object',
    ],
  ] as const)('%s %s: %#', async (method, path, access, body, place, code, message) => {
    const client = server.as(objects.credentials[access][0]!)
    const answer = await client.send(method, filledPath(path, objects.known), {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(400)
    expect(answer.body.details).toContainEqual({ path: place, code, message })
  })
})
