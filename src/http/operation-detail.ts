/** The OpenAPI operation object of an `Operation`, as the `detail` of its Elysia route. */
import type { TObject, TSchema } from '@sinclair/typebox'
import type { ErrorCode } from '../platform/errors.ts'
import { ERROR_STATUS } from '../platform/errors.ts'
import type { Access, Operation } from './operation.ts'
import { problemStatus } from './problem.ts'

const SECURITY: Record<Access, readonly Record<string, readonly string[]>[]> = {
  public: [],
  agent: [{ agentSecret: [] }],
  organization: [{ apiKey: [] }],
  user: [{ userToken: [] }],
  organizationOrUser: [{ apiKey: [] }, { userToken: [] }],
}

/** Every code that the operation can answer with: its own, and those that follow from what it declares. */
export function errorCodes(operation: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors ?? [])
  if (operation.access === 'agent') codes.add('invalid_agent_secret')
  else if (operation.access !== 'public') codes.add('unauthenticated')
  if (operation.access === 'user') codes.add('user_required')
  if (operation.body !== undefined) {
    for (const code of [
      'malformed_json',
      'validation_failed',
      'payload_too_large',
      'too_many_values',
      'body_too_slow',
      'unsupported_media_type',
    ] as const)
      codes.add(code)
    if (operation.body.additionalProperties === false) codes.add('unknown_member')
  }
  if (operation.query !== undefined) codes.add('validation_failed').add('unknown_member')
  for (const code of ['rate_limited', 'internal_error', 'unavailable'] as const) codes.add(code)
  return [...codes]
}

/** In which shape an operation answers failures; see problem.ts and rest-error.ts. */
export type ErrorShape = 'rest' | 'problem'

/** `shape` is of its failures. */
export function operationDetail(operation: Operation, shape: ErrorShape = 'rest') {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: SECURITY[operation.access].map((requirement) => ({ ...requirement })),
    parameters: [...pathParameters(operation.path), ...queryParameters(operation.query)],
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation.body, operation.example) }),
    responses: responses(operation, shape),
    // biome-ignore lint/suspicious/noExplicitAny: Elysia's type of `detail` knows OpenAPI 3.0 only; the document is 3.1
  } as any
}

function pathParameters(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: TObject | undefined) {
  const required = new Set<string>(query?.required ?? [])
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.has(name) && schema.default === undefined,
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema,
  }))
}

function requestBody(schema: TSchema, example: unknown) {
  return {
    required: true,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  }
}

const FAILURE_CONTENT = {
  rest: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  problem: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
} as const

const STATUS = {
  rest: (code: ErrorCode) => ERROR_STATUS[code],
  problem: problemStatus,
} as const

function responses(operation: Operation, shape: ErrorShape) {
  const { status, description, schema, texts = [] } = operation.success
  const content = {
    ...(schema === undefined ? {} : { 'application/json': { schema } }),
    ...Object.fromEntries(texts.map((mediaType) => [mediaType, { schema: { type: 'string' } }])),
  }
  const success = { description, ...(Object.keys(content).length === 0 ? {} : { content }) }
  const byStatus = Map.groupBy(errorCodes(operation), STATUS[shape])
  const failures = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([failure, codes]) => [
      String(failure),
      {
        description: codes.map((code) => `\`${code}\``).join(', '),
        content: FAILURE_CONTENT[shape],
      },
    ])
  return { [String(status)]: success, ...Object.fromEntries(failures) }
}
