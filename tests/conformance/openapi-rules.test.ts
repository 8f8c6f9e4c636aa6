/**
 * Rules for every operation of the OpenAPI document, for readers and for generated clients. A new operation is checked
 * automatically. A failure names what is missing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { createKnownObjects, filledPath } from '../support/known-objects.ts'
import { RECORDER_ENV } from '../support/meetings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is what is being judged here
type Json = any

let server: TestServer
let document: Json

beforeAll(async () => {
  server = await startTestServer({ env: RECORDER_ENV })
  document = (await server.as('nobody').get('/openapi.json')).body
})
afterAll(() => server?.stop())

/** Resolves a `$ref`. Returns any other value unchanged. */
function resolved(value: Json): Json {
  if (typeof value?.$ref !== 'string') return value
  const path = value.$ref.slice('#/'.length).split('/')
  return resolved(path.reduce((node: Json, name: string) => node[name], document))
}

const operations = (): readonly { readonly id: string; readonly path: string; readonly operation: Json }[] =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.values<Json>(item).map((operation) => ({ id: operation.operationId, path, operation })),
  )

/** Every member of every component schema, as `Schema.member`. */
function* members(schema: Json, place: string): Generator<{ readonly place: string; readonly member: Json }> {
  for (const [name, member] of Object.entries<Json>(schema.properties ?? {})) {
    yield { place: `${place}.${name}`, member }
    yield* members(member, `${place}.${name}`)
  }
  if (schema.items !== undefined) yield* members(schema.items, `${place}[]`)
  for (const option of schema.anyOf ?? []) if (option.type !== undefined) yield* members(option, place)
}

const everyMember = () =>
  Object.entries<Json>(document.components.schemas).flatMap(([name, schema]) => [...members(schema, name)])

/** The document in which a failure that several operations refer to is referred to once. Spectral judges each again. */
function withEachFailureOnce(): Json {
  const copy = structuredClone(document)
  const seen = new Set<string>()
  for (const item of Object.values<Json>(copy.paths))
    for (const { responses } of Object.values<Json>(item))
      for (const [status, { $ref }] of Object.entries<Json>(responses)) {
        if (Number(status) < 400 || $ref === undefined) continue
        if (seen.has($ref)) delete responses[status]
        seen.add($ref)
      }
  return copy
}

describe('the document', () => {
  test('has no warning of spectral with its rules for OpenAPI', async () => {
    const spectral = new Spectral()
    spectral.setRuleset({
      // The type comes from another build of the same package.
      extends: [[oas as unknown as RulesetDefinition, 'all']],
      rules: {
        // The order suits readers.
        'openapi-tags-alphabetical': 'off',
        // The operator is the contact. The document cannot know the address.
        'contact-properties': 'off',
      },
    })
    const found = await spectral.run(withEachFailureOnce())
    expect(found.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`)).toEqual([])
  }, 300_000)

  test('describes every operation, parameter and tag', () => {
    const silent = operations().flatMap(({ id, operation }) => [
      ...(operation.description ? [] : [`${id} needs a description`]),
      ...(operation.parameters ?? [])
        .map(resolved)
        .filter((parameter: Json) => !parameter.description)
        .map((parameter: Json) => `${id}: the parameter ${parameter.name} needs a description`),
    ])
    expect(silent).toEqual([])
  })

  test('describes every member of every schema', () => {
    const silent = everyMember()
      .filter(({ member }) => typeof member === 'object' && Object.keys(member).length > 0)
      .filter(({ member }) => !member.description && !resolved(member).description)
      .map(({ place }) => `${place} needs a description`)
    expect(silent).toEqual([])
  })

  test('gives every path parameter a type: a UUID, an integer from 1, or a described text', () => {
    const isId = (schema: Json) =>
      schema.format === 'uuid' || (schema.type === 'integer' && schema.minimum === 1)
    const untyped = operations().flatMap(({ id, operation }) =>
      (operation.parameters ?? [])
        .map(resolved)
        .filter((parameter: Json) => parameter.in === 'path')
        .filter(({ name, schema }: Json) =>
          name.endsWith('Id') && name !== 'externalEventId'
            ? !(schema.anyOf ?? [schema]).every(isId)
            : schema.type !== 'string',
        )
        .map(({ name }: Json) => `${id}: say in \`params\` what ${name} is (uuidOf, integerIdOf)`),
    )
    expect(untyped).toEqual([])
    const { schema } = document.components.parameters.feedbackSourceId
    expect(schema).toMatchObject({ type: 'integer', minimum: 1 })
  })

  test('gives an example of every answer, in every media type', () => {
    const missing = operations().flatMap(({ id, operation }) =>
      Object.entries<Json>(operation.responses)
        .filter(([status]) => Number(status) < 300)
        .flatMap(([status, response]) =>
          Object.entries<Json>(resolved(response).content ?? {})
            .filter(([, { example }]) => example === undefined || JSON.stringify(example).includes(':"text"'))
            .map(
              ([type]) =>
                `${id}: ${status} ${type} needs an example (success.example, or \`examples\` of its members)`,
            ),
        ),
    )
    expect(missing).toEqual([])
  })

  test('names every schema of a body and of an answer', () => {
    const inline = operations().flatMap(({ id, operation }) =>
      [operation.requestBody, ...Object.values<Json>(operation.responses).map(resolved)]
        .flatMap((part) => Object.entries<Json>(part?.content ?? {}))
        .filter(([type, { schema }]) => type.includes('json') && schema.$ref === undefined)
        .map(([type]) => `${id}: ${type} is not a component`),
    )
    expect(inline).toEqual([])
  })

  test('writes what operations share once: parameters, and failures with their headers', () => {
    const written = new Map<string, string[]>()
    for (const { id, operation } of operations()) {
      const failures = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400)
      for (const part of [...(operation.parameters ?? []), ...failures.map(([, response]) => response)]) {
        if (part.$ref !== undefined) continue
        const json = JSON.stringify(part)
        written.set(json, [...(written.get(json) ?? []), id])
      }
    }
    expect([...written].filter(([, ids]) => ids.length > 1)).toEqual([])
  })

  test('has the members of errors that name an object or a limit', () => {
    expect(document.components.schemas.Error.properties).toMatchObject(ERRORS.members)
  })

  test('has no keyword of the validator', () => {
    const text = JSON.stringify(document)
    for (const word of ['"words"', '"documented"', '"$id"', '"useDescription"'])
      expect(text).not.toContain(word)
  })
})

describe('an example', () => {
  /** Sends the example unchanged, as the page /docs does. */
  function withNewValues(example: unknown, unique: readonly string[]): unknown {
    const body = structuredClone(example) as Json
    for (const member of unique) {
      const steps = member.split('.')
      const last = steps.pop()!
      const holder = steps.reduce((value, step) => value[step], body)
      holder[last] = `${holder[last]}-${crypto.randomUUID()}`
    }
    return body
  }

  test('can be sent again: what must be new is named in `unique`', async () => {
    const { known, credentials } = await createKnownObjects(server)
    const failures: string[] = []
    for (const { id, method, path, access, body, example, unique = [] } of server.features.operations) {
      // Examples that need media, or name an object by an id in the body, cannot run here.
      // A recovery stays under way here, because nothing works in the background.
      const themes = ['mergeThemes', 'splitTheme', 'moveThemeItem']
      const skipped = [
        'associateSession',
        'createUserToken',
        'createUpload',
        'recoverWebhook',
        'mergePeople',
        ...themes,
      ]
      if (body === undefined || skipped.includes(id)) continue
      for (const times of ['once', 'twice']) {
        const answer = await server.as(credentials[access][0]!).send(method, filledPath(path, known), {
          body: JSON.stringify(withNewValues(example, unique)),
          headers: { 'content-type': 'application/json' },
        })
        if (answer.status >= 300) failures.push(`${id} ${times}: ${answer.status} ${answer.body?.message}`)
      }
    }
    expect(failures).toEqual([])
  })
})
