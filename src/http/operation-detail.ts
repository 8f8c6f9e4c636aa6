/** The OpenAPI operation object of an `Operation`, used as `detail` of its Elysia route. */
import type { TObject, TSchema } from '@sinclair/typebox'
import type { DocumentDecoration } from 'elysia'
import { ROLES } from '../kernel/roles.rules.ts'
import type { ErrorCatalogue, ErrorCode } from '../platform/errors.ts'
import { exampleOf } from './openapi/example.ts'
import type { Access, Operation } from './operation.ts'
import { problemStatus } from './problem.ts'
import { isForPages } from './rest-cors.ts'

const SECURITY: Record<Access, readonly Record<string, readonly string[]>[]> = {
  public: [],
  agent: [{ agentSecret: [] }],
  organization: [{ apiKey: [] }],
  user: [{ userToken: [] }, { session: [] }],
  organizationOrUser: [{ apiKey: [] }, { userToken: [] }, { session: [] }],
  person: [{ userToken: [] }, { session: [] }],
}

const [LOWEST_ROLE] = ROLES

/** Every error code that the operation can return: its own, and those implied by its declaration. */
export function errorCodes(operation: Operation, shape: ErrorShape = 'rest'): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors ?? [])
  if (operation.access === 'agent') codes.add('invalid_agent_secret')
  else if (operation.access !== 'public') codes.add('unauthenticated')
  if (operation.access === 'user' || operation.access === 'person') codes.add('user_required')
  if (operation.access === 'person') codes.add('unbound_credential_required')
  if (isForPages(operation.access) && operation.method !== 'GET') codes.add('csrf_check_failed')
  if (operation.role !== undefined && operation.role !== LOWEST_ROLE) codes.add('role_required')
  if (operation.body !== undefined) {
    for (const code of [
      'malformed_json',
      'malformed_encoding',
      'validation_failed',
      'payload_too_large',
      'too_many_values',
      'body_too_slow',
      'unsupported_media_type',
    ] as const)
      codes.add(code)
    if (operation.body.additionalProperties === false) codes.add('unknown_member')
  }
  if (operation.query !== undefined) codes.add('validation_failed')
  // Of the query. Operations of the website have none, and take addresses with the parameters that mails and advertisements add.
  if (operation.query !== undefined || shape === 'rest') codes.add('unknown_member')
  for (const code of [
    'invalid_host',
    'rate_limited',
    'internal_error',
    'object_busy',
    'unavailable',
    'storage_full',
  ] as const)
    codes.add(code)
  return [...codes]
}

/** The error shape of an operation; see `problem.ts` and `rest-error.ts`. */
export type ErrorShape = 'rest' | 'problem'

/** `shape`: the shape of its errors. Elysia's type describes OpenAPI 3.0, but the document is 3.1. */
export function operationDetail(
  operation: Operation,
  errors: ErrorCatalogue,
  shape: ErrorShape = 'rest',
): DocumentDecoration {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: SECURITY[operation.access].map((requirement) => ({ ...requirement })),
    ...(operation.role === undefined ? {} : { 'x-required-role': operation.role }),
    parameters: [...pathParameters(operation), ...queryParameters(operation.query)],
    ...(operation.body === undefined
      ? {}
      : { requestBody: requestBody(nameless(operation.body, `${operation.id}Request`), operation) }),
    responses: responses(operation, errors, shape),
  } as unknown as DocumentDecoration
}

function pathParameters({ path, params = {} }: Operation) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...describedSchema(params[name] ?? { type: 'string' }),
  }))
}

function queryParameters(query: TObject | undefined) {
  const required = new Set<string>(query?.required ?? [])
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.has(name) && schema.default === undefined,
    ...describedSchema(schema),
  }))
}

/** The description of a parameter is beside its schema. */
function describedSchema({ description, useDescription, ...schema }: Partial<TSchema>) {
  const text = useDescription ?? description
  return {
    ...(text === undefined ? {} : { description: text }),
    // A named schema looks the same everywhere.
    schema: schema.$id === undefined ? schema : { ...schema, description },
  }
}

/** A schema without a name gets one from its operation. */
const nameless = (schema: TSchema, name: string): TSchema =>
  schema.$id === undefined ? { ...schema, $id: name.charAt(0).toUpperCase() + name.slice(1) } : schema

function requestBody(schema: TSchema, { example, unique }: Operation) {
  const content = {
    schema,
    ...(example === undefined ? {} : { example }),
    ...(unique === undefined ? {} : { 'x-unique-members': unique }),
  }
  const description =
    'JSON in UTF-8, optionally with `Content-Encoding: gzip`. Limits count the decompressed bytes. ' +
    'Beyond 256 KiB they may be at most 100 times those that were sent.'
  return { required: true, description, content: { 'application/json': content } }
}

const FAILURE_CONTENT = {
  rest: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  problem: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
} as const

const STATUS = {
  rest: (code: ErrorCode, errors: ErrorCatalogue) => errors.codes[code],
  problem: problemStatus,
} as const

function responses(operation: Operation, errors: ErrorCatalogue, shape: ErrorShape) {
  const { status, description, schema, example, texts = {} } = operation.success
  const content = {
    ...(schema === undefined
      ? {}
      : {
          'application/json': {
            schema: nameless(schema, `${operation.id}Response`),
            example: example ?? exampleOf(schema),
          },
        }),
    ...Object.fromEntries(
      Object.entries(texts).map(([mediaType, text]) => [
        mediaType,
        { schema: { type: 'string' }, example: text },
      ]),
    ),
  }
  const success = { description, ...(Object.keys(content).length === 0 ? {} : { content }) }
  const byStatus = Map.groupBy(errorCodes(operation, shape), (code) => STATUS[shape](code, errors))
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
