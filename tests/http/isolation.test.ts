/**
 * For every operation of the router: a request without a credential is 401, and an id that is malformed, unknown or from another
 * organization is 404. A new operation is covered automatically, or fails here until its ids are known.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import { insertEvent, insertSession, insertSignal } from '../support/agents-http.ts'
import { createCodingSession, createSessionUpload } from '../support/coding-sessions.ts'
import { createImport } from '../support/feedback-imports.ts'
import { insertTheme } from '../support/insert-theme.ts'
import { insertEndedJoin } from '../support/meetings.ts'
import { createField, createSource } from '../support/metadata.ts'
import { createCanonicalField, createFolder, createRecording, utterance } from '../support/recordings.ts'
import {
  type Answer,
  type Client,
  type Credential,
  startTestServer,
  type TestServer,
} from '../support/server.ts'

let server: TestServer
let operations: readonly Operation[]
let own: { readonly key: Credential; readonly user: Credential }
let stranger: { readonly key: Credential; readonly user: Credential }
/** Path parameters that name objects of the other organization. */
let foreign: Readonly<Record<string, string>>

beforeAll(async () => {
  server = await startTestServer()
  // Ingestion is bound to one application and has no ids in its path: see agents-ingest-auth.
  operations = server.features.operations.filter(({ access }) => access !== 'agent' && access !== 'public')
  own = await credentials()
  stranger = await credentials()
  foreign = await objects(server.as(stranger.key), server.as(stranger.user))
})
afterAll(() => server?.stop())

/** Of the outermost object, which is looked for first. */
const NOT_FOUND: Readonly<Record<string, string>> = {
  applicationId: 'agent_application_not_found',
  sessionId: 'agent_session_not_found',
  signalId: 'agent_signal_not_found',
  sourceId: 'metadata_source_not_found',
  fieldId: 'metadata_field_not_found',
  folderId: 'folder_not_found',
  batchId: 'batch_not_found',
  recordingId: 'recording_not_found',
  feedbackSourceId: 'feedback_source_not_found',
  personId: 'person_not_found',
  erasureId: 'person_erasure_not_found',
  memberId: 'member_not_found',
  apiKeyId: 'api_key_not_found',
  actorKey: 'actor_message_not_found',
  tokenId: 'user_token_not_found',
  publicId: 'project_not_found',
  userSessionId: 'user_session_not_found',
  codingSessionId: 'coding_session_not_found',
  codingUploadId: 'coding_session_upload_not_found',
  importId: 'feedback_import_not_found',
  webhookId: 'webhook_not_found',
  importSourceId: 'import_source_not_found',
  themeId: 'theme_not_found',
  itemId: 'theme_item_not_found',
}

const IMPORT_SOURCE = { provider: 'zendesk', url: 'https://example.zendesk.com', secret: 'x' }

/** As the example of its operation, of which a second one is the same upload. */
const UPLOAD = { fileName: 'call.mp4', fileSize: 25_000_000 }

const organizations = new Map<Credential, string>()

async function credentials() {
  const { apiKey, userToken, organizationId } = await server.createTenant()
  const both = { key: { apiKey }, user: { userToken } }
  organizations.set(both.key, organizationId)
  return both
}

/** One of everything that has an id, of the other organization. */
async function objects(key: Client, user: Client): Promise<Readonly<Record<string, string>>> {
  const { sql } = server.database
  const organizationId = organizations.get(stranger.key) as string
  const { applicationId, secretId } = await server.createApplication(organizationId, { agentKey: 'a' })
  const sessionId = await insertSession(sql, organizationId, applicationId)
  await insertEvent(sql, organizationId, sessionId, 1)
  const finding = { source: 'qualitative_inference', kind: 'complaint', tier: 'sure' }
  const analyzer = { analyzer_name: 'builtin', analyzer_version: '1' }
  const signal = { ...finding, ...analyzer, comment: 'It is bad.' }
  const signalId = await insertSignal(sql, { organizationId, applicationId, sessionId }, signal)
  const sourceId = await createSource(key)
  const fieldId = await createField(key, sourceId)
  const folderId = await createFolder(key)
  const { id: batchId } = (await user.post('/v3/rest/upload-batches', {})).body
  const { id: recordingId } = await createRecording(key, {
    folderIds: [folderId],
    record: { externalId: 'x', values: [{ fieldId: await createCanonicalField(key), value: 'x' }] },
    transcript: [utterance(0, 1)],
    participants: [{ speaker: 0, email: 'ada@example.com' }],
  })
  await insertEndedJoin(sql, organizationId, recordingId)
  const upload = await key.post(`/v3/rest/recordings/${recordingId}/uploads`, UPLOAD)
  const { uploadId } = upload.body
  const feedback = await feedbackObjects(key)
  const { userId: memberId } = await server.createUser(organizationId)
  const { id: tokenId } = (await key.post('/v3/rest/user-tokens', { userId: memberId })).body
  const { id: strangerId } = (await user.get('/v3/rest/session')).body.user
  const { id: userSessionId } = await server.features.identity.createSession(strangerId, null)
  const members = {
    memberId,
    tokenId,
    userSessionId,
    ...(await insertTheme(sql, organizationId)),
    ...(await webhookObjects(key)),
    ...(await administrationObjects(key, organizationId)),
  }
  const codingSessionId = await createCodingSession(key)
  const codingUploadId = await createSessionUpload(key)
  const publishableKey = await key.post(`/v3/rest/agent-applications/${applicationId}/publishable-keys`, {
    name: 'Page',
    origins: ['https://www.example.com'],
  })
  const publishableKeyId = publishableKey.body.id
  const importSource = await key.post(
    `/v3/rest/agent-applications/${applicationId}/import-sources`,
    IMPORT_SOURCE,
  )
  const importSourceId = importSource.body.id
  const agents = {
    applicationId,
    importSourceId,
    secretId,
    publishableKeyId,
    sessionId,
    signalId,
    externalEventId: 'e1',
  }
  // A project with this session.
  const { publicId } = (await key.post('/v3/rest/projects', { name: 'Checkout' })).body
  await key.post(`/v3/rest/projects/${publicId}/agent-sessions`, { sessionId: codingSessionId })
  return {
    ...agents,
    sourceId,
    fieldId,
    folderId,
    batchId,
    recordingId,
    uploadId,
    codingSessionId,
    codingUploadId,
    publicId,
    ...feedback,
    ...members,
  }
}

/** An API key, and a dead letter of an actor. */
async function administrationObjects(key: Client, organizationId: string) {
  const { id: apiKeyId } = (await key.post('/v3/rest/api-keys', { name: 'other' })).body
  const actorKey = `session:${newId()}`
  const { sql } = server.database
  await sql`insert into actor_mailbox (key, organization_id, last_seq) values (${actorKey}, ${organizationId}, 1)`
  await sql`
    insert into actor_dead_letter (key, seq, type, payload, attempts)
    values (${actorKey}, 1, 'advance', '{}', 3)`
  return { apiKeyId, actorKey, messageNumber: '1' }
}

/** A delivery that is over, so that it can be sent again. */
async function webhookObjects(key: Client): Promise<Readonly<Record<string, string>>> {
  const { id: webhookId } = (
    await key.post('/v3/rest/webhooks', { url: 'https://example.com/', types: ['*'] })
  ).body
  const { id: deliveryId } = (await key.post(`/v3/rest/webhooks/${webhookId}/ping`, {})).body
  const { sql } = server.database
  await sql`update webhook_delivery set status = 'delivered' where id = ${deliveryId}`
  await sql`delete from actor_message where key = ${`webhook_delivery:${deliveryId}`}`
  return { webhookId, deliveryId }
}

/** Their ids are small numbers, so what they are called is what must not be shown. */
async function feedbackObjects(key: Client): Promise<Readonly<Record<string, string>>> {
  const name = newId()
  const source = (await key.post('/v3/rest/feedback-sources', { name })).body
  const person = (await key.put('/v3/rest/people', { email: 'eve@example.com', first_name: name })).body
  const record = await key.post(`/v3/rest/feedback-sources/${source.id}/records`, {
    person_id: person.id,
    external_id: 'x',
    fields: [{ category: 'content', type: 'string', name: 'comment', value: name }],
  })
  const other = (await key.put('/v3/rest/people', { email: 'fay@example.com' })).body
  const gone = (await key.put('/v3/rest/people', { email: 'gone@example.com' })).body
  const { id: erasureId } = (await key.delete(`/v3/rest/people/${gone.id}`)).body
  const [feedbackSourceId, personId] = [String(source.id), String(person.id)]
  return {
    feedbackSourceId,
    personId,
    otherPersonId: other.uuid,
    erasureId,
    feedbackRecordId: String(record.body.id),
    importId: await createImport(key, source.id, server.database.sql),
    feedbackName: name,
  }
}

const fill = (path: string, value: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name))

function send(caller: Credential, operation: Operation, path: string): Promise<Answer> {
  const client = server.as(caller)
  if (operation.body === undefined) return client.send(operation.method, path)
  // These examples name objects that do not exist.
  const named: Readonly<Record<string, unknown>> = {
    associateSession: { sessionId: foreign.codingSessionId },
    mergePeople: { personId: foreign.otherPersonId },
    mergeThemes: { themeId: foreign.otherThemeId },
    splitTheme: { itemIds: [Number(foreign.itemId), Number(foreign.otherItemId)] },
    moveThemeItem: { themeId: foreign.themeId },
  }
  const body = JSON.stringify(named[operation.id] ?? operation.example)
  return client.send(operation.method, path, { body, headers: { 'content-type': 'application/json' } })
}

/** The credentials of an organization that open the operation. */
function callersOf({ access }: Operation, { key, user }: typeof own): readonly Credential[] {
  if (access === 'organizationOrUser') return [key, user]
  return [access === 'user' ? user : key]
}

/** Every row of the other organization, in whatever table. */
async function holdings(): Promise<unknown> {
  const { sql } = server.database
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'organization_id' order by table_name`
  expect(tables.length).toBeGreaterThan(15)
  return Promise.all(
    tables.map(async ({ name }) => {
      const rows = await sql`
        select to_jsonb(t) - 'last_used_at' as row from ${sql(name)} t
        where t.organization_id = ${organizations.get(stranger.key) as string}
        order by 1`
      return [name, rows.map(({ row }) => row)]
    }),
  )
}

describe('every operation', () => {
  test('is 401 without a credential and with a wrong one, before anything else', async () => {
    expect(operations.length).toBeGreaterThan(30)
    for (const operation of operations) {
      const path = `${fill(operation.path, () => 'not-an-id')}?colour=red`
      const callers: Credential[] = ['nobody', { apiKey: 'esk_wrong' }, { userToken: 'wrong' }]
      for (const caller of callers) {
        const answer = await send(caller, operation, path)
        expect([operation.id, answer.status]).toEqual([operation.id, 401])
        expect(answer.headers.get('www-authenticate')).not.toBeNull()
      }
    }
  })

  test('has only path ids that this test covers', () => {
    const names = new Set(operations.flatMap(({ path }) => path.match(/(?<=\{)\w+(?=\})/g) ?? []))
    expect([...names].filter((name) => !(name in foreign))).toEqual([])
  })

  test.each([
    ['malformed', () => 'not-an-id'],
    ['unknown', (name: string) => (/^\d+$/.test(foreign[name] ?? '') ? '9007199254740991' : newId())],
    ['of another organization', (name: string) => foreign[name] ?? ''],
  ])('with an id that is %s is 404 and changes nothing', async (_, value) => {
    const before = await holdings()
    for (const operation of operations.filter(({ path }) => path.includes('{'))) {
      for (const caller of callersOf(operation, own)) {
        const answer = await send(caller, operation, fill(operation.path, value))
        const outermost = /\{(\w+)\}/.exec(operation.path)?.[1] ?? ''
        expect([operation.id, answer.status]).toEqual([operation.id, 404])
        expect([operation.id, answer.body.code]).toEqual([operation.id, NOT_FOUND[outermost]])
      }
    }
    expect(await holdings()).toEqual(before)
  })

  test('that lists shows nothing of another organization, whatever the filter', async () => {
    const values = new Set(Object.values(foreign).filter((value) => value.length === 36))
    // A stream has no end; tests/event-stream/stream.test.ts covers it.
    const lists = operations.filter(
      ({ id, method, path }) => method === 'GET' && !path.includes('{') && id !== 'stream',
    )
    for (const operation of lists) {
      const parameters = Object.keys(operation.query?.properties ?? {})
      const filters = [
        '',
        ...(parameters.includes('agentKey') ? ['?agentKey=a'] : []),
        ...(parameters.includes('sessionId') ? [`?sessionId=${foreign.sessionId}`] : []),
        ...(parameters.includes('folder_id') ? [`?folder_id=${foreign.folderId}`] : []),
        ...(parameters.includes('external_id') ? ['?external_id=x'] : []),
        ...(parameters.includes('email') ? ['?email=eve@example.com'] : []),
        ...(parameters.includes('name') ? [`?name=${foreign.feedbackName}`] : []),
      ]
      for (const filter of filters) {
        for (const caller of callersOf(operation, own)) {
          const answer = await send(caller, operation, `${operation.path}${filter}`)
          const shown = JSON.stringify(answer.status === 404 ? [] : (answer.body.data ?? answer.body))
          expect([operation.id, [...values].filter((value) => shown.includes(value))]).toEqual([
            operation.id,
            [],
          ])
        }
      }
    }
  })

  test('of the owner with the same ids is not 404', async () => {
    const order = operations.filter(({ path }) => path.includes('{'))
    // What removes comes last, the inner objects first.
    const rank = ({ method, path }: Operation) => (method === 'DELETE' ? 100 - path.split('/').length : 0)
    order.sort((a, b) => rank(a) - rank(b))
    for (const operation of order) {
      const path = fill(operation.path, (name) => foreign[name] ?? '')
      const [caller] = callersOf(operation, stranger)
      // Retried before: only a message that failed may be skipped.
      if (operation.id === 'skipMessage')
        await server.database.sql`update actor_message set attempts = 1 where key = ${foreign.actorKey ?? ''}`
      const { status, body } = await send(caller as Credential, operation, path)
      // What was made meanwhile may still be in it.
      if (operation.errors?.includes('not_empty') && body?.code === 'not_empty') continue
      expect([operation.id, status]).toEqual([operation.id, operation.success.status])
    }
  })
})
