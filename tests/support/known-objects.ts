/** An organization with one object of every kind that a path or a body can name, and with every credential. */
import type { Operation } from '../../src/http/operation.ts'
import { createCodingSession, createSessionUpload } from './coding-sessions.ts'
import { createImport } from './feedback-imports.ts'
import { insertFinding } from './findings.ts'
import { insertTheme } from './insert-theme.ts'
import { createSource } from './metadata.ts'
import { createCanonicalField, createFolder, createRecording, utterance } from './recordings.ts'
import type { Client, Credential, TestServer } from './server.ts'

export interface KnownObjects {
  /** Ids of existing objects, by name of path parameter and member. */
  readonly known: Readonly<Record<string, unknown>>
  readonly credentials: Readonly<Record<Operation['access'], readonly Credential[]>>
}

export async function createKnownObjects(server: TestServer): Promise<KnownObjects> {
  const { organizationId, apiKey, userId, userToken } = await server.createTenant()
  const { agentSecret } = await server.createApplication(organizationId)
  return {
    known: {
      ...(await createObjects(server, organizationId, apiKey)),
      ...(await createProject(server.as({ apiKey }))),
      // Who accepts belongs to two organizations, and has to name one with every request.
      invitingId: crypto.randomUUID(),
      userSessionId: (await server.features.identity.createSession(userId, null)).id,
    },
    credentials: {
      public: ['nobody'],
      agent: [{ agentSecret }],
      organization: [{ apiKey }],
      user: [{ userToken }],
      person: [{ userToken }],
      organizationOrUser: [{ apiKey }, { userToken }],
    },
  }
}

async function createObjects(server: TestServer, organizationId: string, apiKey: string) {
  const client = server.as({ apiKey })
  // Not the application that ingests, because its settings change during the test.
  const application = await server.createApplication(organizationId, { agentKey: 'changing' })
  const feedbackSource = await client.post('/v3/rest/feedback-sources', { name: 'Help desk', type: 'api' })
  const recording = await createRecording(client, {
    transcript: [utterance(0, 1)],
    participants: [{ speaker: 0, email: 'ada@example.com' }],
  })
  // Not the user who sends the requests.
  const { userId } = await server.createUser(organizationId)
  const person = await client.put('/v3/rest/people', { email: 'grace@example.com' })
  const webhook = await client.post('/v3/rest/webhooks', { url: 'https://example.com/', types: ['*'] })
  const { themeId, itemId, otherItemId } = await insertTheme(server.database.sql, organizationId)
  const { applicationId } = application
  const publishableKey = await client.post(`/v3/rest/agent-applications/${applicationId}/publishable-keys`, {
    name: 'Page',
    origins: ['https://www.example.com'],
  })
  const importSource = await client.post(`/v3/rest/agent-applications/${applicationId}/import-sources`, {
    provider: 'zendesk',
    url: 'https://example.zendesk.com',
    secret: 'x',
  })
  return {
    importSourceId: importSource.body.id,
    publishableKeyId: publishableKey.body.id,
    themeId,
    itemId,
    itemIds: [Number(itemId), Number(otherItemId)],
    webhookId: webhook.body.id,
    applicationId,
    userId,
    memberId: userId,
    apiKeyId: (await client.post('/v3/rest/api-keys', { name: 'another' })).body.id,
    tokenId: (await client.post('/v3/rest/user-tokens', { userId })).body.id,
    sourceId: await createSource(client),
    fieldId: await createCanonicalField(client),
    codingUploadId: await createSessionUpload(client),
    folderId: await createFolder(client),
    folderIds: [await createFolder(client)],
    recordingId: recording.id,
    signalId: await insertFinding(server.database.sql, organizationId, {
      channel: 'recording',
      recording_id: recording.id,
    }),
    personId: recording.participants[0].personId,
    feedbackSourceId: feedbackSource.body.id,
    importId: await createImport(client, feedbackSource.body.id, server.database.sql),
    person_id: person.body.id,
  }
}

/** A project with an agent session. */
async function createProject(client: Client) {
  const { publicId } = (await client.post('/v3/rest/projects', { name: 'Checkout' })).body
  const sessionId = await createCodingSession(client)
  await client.post(`/v3/rest/projects/${publicId}/agent-sessions`, { sessionId })
  // In a body, a session is one of a coding agent.
  return { publicId, codingSessionId: sessionId, sessionId }
}

/** Puts known ids into the braces of the path. */
export function filledPath(path: string, known: KnownObjects['known']): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(known[name]))
}
