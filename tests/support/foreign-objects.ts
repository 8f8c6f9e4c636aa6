/** An organization with one of everything that a path can name, and what a test needs to look for it. */
import { expect } from 'bun:test'
import type { Operation } from '../../src/http/operation.ts'
import { newId } from '../../src/platform/ids.ts'
import { insertEvent, insertSession, insertSignal } from './agents-http.ts'
import { createCodingSession, createSessionUpload } from './coding-sessions.ts'
import { createImport } from './feedback-imports.ts'
import { insertTheme } from './insert-theme.ts'
import { insertEndedJoin } from './meetings.ts'
import { createField, createSource } from './metadata.ts'
import { createCanonicalField, createFolder, createRecording, utterance } from './recordings.ts'
import type { Client, TestServer, TestTenant } from './server.ts'

const IMPORT_SOURCE = { provider: 'zendesk', url: 'https://example.zendesk.com', secret: 'x' }

/** As the example of its operation, of which a second one is the same upload. */
const UPLOAD = { fileName: 'call.mp4', fileSize: 25_000_000 }

/** One of everything that has an id, by the name of its path parameter. */
export async function createForeignObjects(
  server: TestServer,
  { organizationId, apiKey, userToken, userId: ownerId }: TestTenant,
): Promise<Readonly<Record<string, string>>> {
  const { sql } = server.database
  const [key, user] = [server.as({ apiKey }), server.as({ userToken })]
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
  const feedback = await feedbackObjects(server, key)
  const { userId: memberId } = await server.createUser(organizationId)
  const { id: tokenId } = (await key.post('/v3/rest/user-tokens', { userId: memberId })).body
  const { id: userSessionId } = await server.features.identity.createSession(ownerId, null)
  const { id: invitingId } = await server.features.identity.createOrganization('Inviting')
  await invite(server, invitingId, ownerId)
  const members = {
    memberId,
    tokenId,
    userSessionId,
    invitingId,
    ...(await insertTheme(sql, organizationId)),
    ...(await webhookObjects(server, key)),
    ...(await administrationObjects(server, key, organizationId)),
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
async function administrationObjects(server: TestServer, key: Client, organizationId: string) {
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
async function webhookObjects(server: TestServer, key: Client): Promise<Readonly<Record<string, string>>> {
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
async function feedbackObjects(server: TestServer, key: Client): Promise<Readonly<Record<string, string>>> {
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

/** Asks the user whether they become a member of the organization. */
export async function invite(server: TestServer, organizationId: string, userId: string): Promise<void> {
  const email = (await server.features.identity.findUserAnywhere(userId))?.email ?? ''
  const person = { email, name: 'Invited', role: 'analyst', baseUrl: null } as const
  await server.features.identity.addPerson(organizationId, person)
}

/** The body of the example of an operation, or one that names foreign objects. */
export function bodyFor(operation: Operation, foreign: Readonly<Record<string, string>>): unknown {
  // These examples name objects that do not exist.
  const named: Readonly<Record<string, unknown>> = {
    associateSession: { sessionId: foreign.codingSessionId },
    mergePeople: { personId: foreign.otherPersonId },
    mergeThemes: { themeId: foreign.otherThemeId },
    splitTheme: { itemIds: [Number(foreign.itemId), Number(foreign.otherItemId)] },
    moveThemeItem: { themeId: foreign.themeId },
  }
  return named[operation.id] ?? operation.example
}

/** The path with the values in place of its parameters. */
export const fill = (path: string, value: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name))

/** Every row of the organization, in whatever table. */
export async function holdingsOf({ database: { sql } }: TestServer, organizationId: string) {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'organization_id' order by table_name`
  expect(tables.length).toBeGreaterThan(15)
  return Promise.all(
    tables.map(async ({ name }) => {
      const rows = await sql`
        select to_jsonb(t) - 'last_used_at' as row from ${sql(name)} t
        where t.organization_id = ${organizationId}
        order by 1`
      return [name, rows.map(({ row }) => row)]
    }),
  )
}
