/**
 * A body that fits its schema in the OpenAPI document is never 400. Some rules between members cannot be expressed in a schema:
 * descriptions state them, and `arrange` makes the generated bodies obey them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Operation } from '../../src/http/operation.ts'
import { asOperation } from '../../src/http/website-operation.ts'
import { valuesOf } from '../support/document-arbitrary.ts'
import { createKnownObjects, filledPath, type KnownObjects } from '../support/known-objects.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const RUNS = Number(process.env.EARSHOT_SCHEMA_RUNS ?? 24)

// biome-ignore lint/suspicious/noExplicitAny: the document, and bodies that fit it
type Json = any

let server: TestServer
let objects: KnownObjects
let document: Json

beforeAll(async () => {
  server = await startTestServer({ env: { PUBLIC_BASE_URL: 'https://earshot.example' } })
  objects = await createKnownObjects(server)
  document = (await server.as('nobody').get('/openapi.json')).body
})
afterAll(() => server?.stop())

const resolve = (reference: string): Json =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce((node: Json, name: string) => node[name], document)

/** Rules that tie members to one another, or to what is stored. */
const ARRANGE: Readonly<Record<string, (body: Json) => void>> = {
  ingestAgentConversation(body) {
    body.agentKey = 'demo'
    body.externalSessionId = crypto.randomUUID()
    // One participant is described once, and an event is sent once; feedback is about an earlier response.
    delete body.participants
    const target = { externalEventId: 'target', sequence: 0, revision: 1, occurredAt: '2026-01-01T00:00:00Z' }
    body.events = [{ ...target, type: 'assistant_message' }, ...body.events]
    for (const [index, event] of body.events.entries()) {
      if (index > 0) Object.assign(event, { externalEventId: `e${index}`, sequence: index })
      if (event.feedback !== undefined) event.feedback.targetEventExternalId = 'target'
    }
  },
  appendAgentConversation(body) {
    body.agentKey = 'demo'
    body.externalSessionId = crypto.randomUUID()
    delete body.participants
    body.events = [{ externalEventId: 'target', type: 'assistant_message' }, ...body.events]
    for (const [index, event] of body.events.entries()) {
      if (index > 0) event.externalEventId = `e${index}`
      if (event.feedback !== undefined) event.feedback.targetEventExternalId = 'target'
    }
  },
  ask(body) {
    // No pattern describes every text that has a word; the period is not over before it begins.
    body.question = 'What hurts?'
    delete body.until
  },
  createFeedbackSource(body) {
    // Another type has an error of its own.
    delete body.type
  },
  createPublishableKey(body) {
    // No pattern describes every address that has a host.
    body.origins = body.origins.map((_: Json, index: number) => `https://p${index}.example`)
  },
  createRecording(body) {
    // `completedAt` is not before `startedAt`; `name` is another name of `displayName`.
    delete body.completedAt
    delete body.name
    // Utterances are in order, and those of one speaker do not overlap; every participant speaks, each person once.
    delete body.transcript
    body.participants = body.participants?.slice(0, 1)
  },
  updateOrganization(body) {
    // No pattern describes every name of a time zone.
    body.timeZone = 'Europe/Berlin'
  },
  updateRecording(body) {
    delete body.name
    // `completedAt` is not before `startedAt`; every participant speaks in the transcript that is stored.
    delete body.completedAt
    delete body.participants
    delete body.record?.removeFieldIds
  },
  createUpload(body) {
    // A key of the organization has no batches.
    delete body.batchId
  },
  recoverWebhook(body) {
    // The period is not over before it begins; it ends now.
    body.since = '2026-01-01T00:00:00Z'
    delete body.until
  },
  uploadCodingSession(body) {
    // The file holds at least one event of a session.
    delete body.jsonl
    delete body.uploadId
    body.format = 'normalized'
    body.externalSessionId = 's1'
    body.events = [{ id: '1', role: 'user', text: 'The login form rejects long passwords.' }]
  },
  judgeSignal(body) {
    // A finding that is wrong may have another kind than its own.
    delete body.kind
  },
  previewFeedbackImport: withColumnsOfFile,
  startFeedbackImport: withColumnsOfFile,
  createAgentApplication: withKnownUsers,
  updateAgentApplication: withKnownUsers,
}

/** A mapping names columns of the file. */
function withColumnsOfFile(body: Json): void {
  body.mapping = { external_id: 'Ticket', columns: { Comment: 'content:string' } }
}

/** Listed users are members of the organization. */
function withKnownUsers(body: Json): void {
  const access = body.settings?.conversationAccess
  if (access?.userIds !== undefined) access.userIds = [objects.known.userId]
}

test('a body that fits its schema is not refused as invalid', async () => {
  const { operations, website } = server.features
  const withBody: readonly Operation[] = [...operations, ...website.map(asOperation)].filter(
    ({ body }) => body !== undefined,
  )
  const refused: string[] = []
  let sent = 0
  for (const { id, method, path, access } of withBody) {
    const { schema } = document.paths[path][method.toLowerCase()].requestBody.content['application/json']
    const bodies = fc.sample(valuesOf(schema, resolve), { numRuns: RUNS, seed: 1 })
    for (const made of bodies) {
      const body = structuredClone(made) as Json
      ARRANGE[id]?.(body)
      const answer = await server
        .as(objects.credentials[access][0]!)
        .send(method, filledPath(path, objects.known), {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        })
      sent++
      if (answer.status !== 400 && answer.status < 500) continue
      const { message, detail, errors } = answer.body
      refused.push(
        `${id}: ${message ?? detail} ${JSON.stringify(errors ?? '')} for ${JSON.stringify(body).slice(0, 400)}`,
      )
      break
    }
  }
  expect(refused).toEqual([])
  expect(sent).toBeGreaterThan(RUNS * 10)
}, 300_000)
