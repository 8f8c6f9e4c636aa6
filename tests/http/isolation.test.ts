/**
 * For every operation of the router: a request without a credential is 401, and an id that is malformed, unknown or from another
 * organization is 404. A new operation is covered automatically, or fails here until its ids are known.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import { bodyFor, createForeignObjects, fill, holdingsOf, invite } from '../support/foreign-objects.ts'
import {
  type Answer,
  type Credential,
  startTestServer,
  type TestServer,
  type TestTenant,
} from '../support/server.ts'

let server: TestServer
let operations: readonly Operation[]
let own: TestTenant
let stranger: TestTenant
/** Path parameters that name objects of the other organization. */
let foreign: Readonly<Record<string, string>>

beforeAll(async () => {
  server = await startTestServer()
  // Ingestion is bound to one application and has no ids in its path: see agents-ingest-auth.
  operations = server.features.operations.filter(({ access }) => access !== 'agent' && access !== 'public')
  own = await server.createTenant()
  stranger = await server.createTenant()
  foreign = await createForeignObjects(server, stranger)
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
  invitingId: 'invitation_not_found',
  codingSessionId: 'coding_session_not_found',
  codingUploadId: 'coding_session_upload_not_found',
  importId: 'feedback_import_not_found',
  webhookId: 'webhook_not_found',
  importSourceId: 'import_source_not_found',
  themeId: 'theme_not_found',
  itemId: 'theme_item_not_found',
}

function send(caller: Credential, operation: Operation, path: string): Promise<Answer> {
  const client = server.as(caller)
  if (operation.body === undefined) return client.send(operation.method, path)
  const body = JSON.stringify(bodyFor(operation, foreign))
  return client.send(operation.method, path, { body, headers: { 'content-type': 'application/json' } })
}

/** The credentials of an organization that open the operation. */
function callersOf({ access }: Operation, { apiKey, userToken }: TestTenant): readonly Credential[] {
  const [key, user] = [{ apiKey }, { userToken }]
  if (access === 'organizationOrUser') return [key, user]
  return [access === 'user' || access === 'person' ? user : key]
}

const holdings = () => holdingsOf(server, stranger.organizationId)

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
    // Who has accepted an invitation needs to name the organization from then on.
    const rank = ({ id, method, path }: Operation) =>
      id === 'acceptInvitation' ? 200 : method === 'DELETE' ? 100 - path.split('/').length : 0
    order.sort((a, b) => rank(a) - rank(b))
    for (const operation of order) {
      const path = fill(operation.path, (name) => foreign[name] ?? '')
      const [caller] = callersOf(operation, stranger)
      // Retried before: only a message that failed may be skipped.
      if (operation.id === 'skipMessage')
        await server.database.sql`update actor_message set attempts = 1 where key = ${foreign.actorKey ?? ''}`
      // Declined before.
      if (operation.id === 'acceptInvitation') await invite(server, foreign.invitingId ?? '', stranger.userId)
      const { status, body } = await send(caller as Credential, operation, path)
      // What was made meanwhile may still be in it.
      if (operation.errors?.includes('not_empty') && body?.code === 'not_empty') continue
      expect([operation.id, status]).toEqual([operation.id, operation.success.status])
    }
  })
})
