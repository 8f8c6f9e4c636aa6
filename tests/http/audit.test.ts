/** Who read or changed what: every change of an administrator has an entry in its transaction, reads follow in the background. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { auditMaintenance } from '../../src/access/audit/maintenance.ts'
import { createReadLog } from '../../src/access/audit/reads.ts'
import { ACTIONS } from '../../src/kernel/audit-actions.ts'
import { newId } from '../../src/platform/ids.ts'
import { insertSession } from '../support/agents-http.ts'
import { createCodingSession } from '../support/coding-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { createImport } from '../support/feedback-imports.ts'
import { createFolder, createRecording, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const AUDIT = '/v3/rest/audit'

interface Entry {
  readonly principal: { readonly kind: string; readonly id: string | null }
  readonly action: string
  readonly object: { readonly kind: string; readonly id: string | null }
  readonly requestId: string | null
  readonly details: Record<string, unknown>
  readonly times: number
  readonly occurredAt: string
}

let server: TestServer
let tenant: TestTenant
let admin: Client
let key: Client

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  admin = server.as({ userToken: tenant.userToken })
  key = server.as({ apiKey: tenant.apiKey })
})
afterAll(() => server?.stop())

const entries = async (query = '', client = admin): Promise<readonly Entry[]> => {
  const answer = await client.get(`${AUDIT}?limit=100${query}`)
  expect(answer.status).toBe(200)
  return answer.body.data
}

const REST = '/v3/rest'
const post = async (path: string, body: unknown): Promise<{ readonly id: string }> =>
  (await key.post(`${REST}${path}`, body)).body
const application = () => post('/agent-applications', { agentKey: newId(), name: 'x' })
const source = () => post('/feedback-sources', { name: newId() })
const importPath = async () => {
  const { id } = await source()
  return `/feedback-sources/${id}/imports/${await createImport(key, Number(id), server.database.sql)}`
}
const metadataSource = () => post('/metadata/sources', { externalEntityName: newId() })
const project = async (): Promise<{ readonly publicId: string }> =>
  (await key.post(`${REST}/projects`, { name: 'x' })).body
const PAGE_KEY = { name: 'x', origins: ['https://www.example.com'] }
const IMPORT_SOURCE = { provider: 'zendesk', url: 'https://example.zendesk.com', secret: 'x' }
const sourcesPath = async () => `/agent-applications/${(await application()).id}/import-sources`
const WEBHOOK = { url: 'https://example.com/', types: ['*'] }
const FIELDS = [{ category: 'content', type: 'string', name: 'comment', value: 'x' }]

async function actor(): Promise<string> {
  const { sql } = server.database
  const actorKey = `session:${newId()}`
  const { organizationId } = tenant
  await sql`insert into actor_mailbox (key, organization_id, last_seq) values (${actorKey}, ${organizationId}, 1)`
  await sql`insert into actor_dead_letter (key, seq, type, payload, attempts) values (${actorKey}, 1, 'advance', '{}', 1)`
  return actorKey
}

type Send = readonly [method: string, path: string, body?: unknown]

/** A request for every change that an administrator can make, and its action. */
const CHANGES: Readonly<Record<string, readonly [action: string, send: () => Promise<Send>]>> = {
  createImportSource: ['import_source.created', async () => ['POST', await sourcesPath(), IMPORT_SOURCE]],
  deleteImportSource: [
    'import_source.deleted',
    async () => {
      const path = await sourcesPath()
      return ['DELETE', `${path}/${(await post(path, IMPORT_SOURCE)).id}`]
    },
  ],
  runImportSource: [
    'import_source.run',
    async () => {
      const path = await sourcesPath()
      return ['POST', `${path}/${(await post(path, IMPORT_SOURCE)).id}/run`]
    },
  ],
  createWebhook: ['webhook.created', async () => ['POST', '/webhooks', WEBHOOK]],
  updateWebhook: [
    'webhook.updated',
    async () => ['PATCH', `/webhooks/${(await post('/webhooks', WEBHOOK)).id}`, { enabled: false }],
  ],
  deleteWebhook: [
    'webhook.deleted',
    async () => ['DELETE', `/webhooks/${(await post('/webhooks', WEBHOOK)).id}`],
  ],
  rotateWebhookSecret: [
    'webhook.secret_rotated',
    async () => ['POST', `/webhooks/${(await post('/webhooks', WEBHOOK)).id}/secret`],
  ],
  deleteCodingSession: [
    'coding_session.deleted',
    async () => ['DELETE', `/coding-sessions/${await createCodingSession(key)}`],
  ],
  createMember: ['member.created', async () => ['POST', '/members', { email: `${newId()}@example.com` }]],
  updateMember: [
    'member.updated',
    async () => [
      'PATCH',
      `/members/${(await server.createUser(tenant.organizationId)).userId}`,
      { role: 'viewer' },
    ],
  ],
  removeMember: [
    'member.deleted',
    async () => ['DELETE', `/members/${(await server.createUser(tenant.organizationId)).userId}`],
  ],
  revokeMemberTokens: [
    'member.tokens_revoked',
    async () => ['DELETE', `/members/${(await server.createUser(tenant.organizationId)).userId}/user-tokens`],
  ],
  createUserToken: ['user_token.created', async () => ['POST', '/user-tokens', { userId: tenant.userId }]],
  renameUserToken: [
    'user_token.updated',
    async () => [
      'PATCH',
      `/user-tokens/${(await post('/user-tokens', { userId: tenant.userId })).id}`,
      { name: 'x' },
    ],
  ],
  revokeUserToken: [
    'user_token.deleted',
    async () => ['DELETE', `/user-tokens/${(await post('/user-tokens', { userId: tenant.userId })).id}`],
  ],
  createApiKey: ['api_key.created', async () => ['POST', '/api-keys', { name: 'x' }]],
  renameApiKey: [
    'api_key.updated',
    async () => ['PATCH', `/api-keys/${(await post('/api-keys', { name: 'x' })).id}`, { name: 'y' }],
  ],
  revokeApiKey: [
    'api_key.deleted',
    async () => ['DELETE', `/api-keys/${(await post('/api-keys', { name: 'x' })).id}`],
  ],
  addCredits: ['credits.added', async () => ['POST', '/credits', { units: 1 }]],
  setCredits: ['credits.set', async () => ['PATCH', '/credits', { balance: null }]],
  retryDeadLetter: [
    'actor_message.retried',
    async () => ['POST', `/actors/${await actor()}/messages/1/retry`],
  ],
  skipMessage: ['actor_message.skipped', async () => ['POST', `/actors/${await actor()}/messages/1/skip`]],
  updateOrganization: [
    'organization.updated',
    async () => ['PATCH', '/organization', { recordingAllowed: true }],
  ],
  createAgentApplication: [
    'agent_application.created',
    async () => ['POST', '/agent-applications', { agentKey: newId(), name: 'x' }],
  ],
  updateAgentApplication: [
    'agent_application.updated',
    async () => [
      'PATCH',
      `/agent-applications/${(await application()).id}`,
      { settings: { retentionDays: 9 } },
    ],
  ],
  deleteAgentApplication: [
    'agent_application.deleted',
    async () => ['DELETE', `/agent-applications/${(await application()).id}`],
  ],
  createAgentSecret: [
    'agent_secret.created',
    async () => ['POST', `/agent-applications/${(await application()).id}/secrets`],
  ],
  deleteAgentSecret: [
    'agent_secret.deleted',
    async () => {
      const path = `/agent-applications/${(await application()).id}/secrets`
      return ['DELETE', `${path}/${(await post(path, {})).id}`]
    },
  ],
  createPublishableKey: [
    'publishable_key.created',
    async () => ['POST', `/agent-applications/${(await application()).id}/publishable-keys`, PAGE_KEY],
  ],
  deletePublishableKey: [
    'publishable_key.deleted',
    async () => {
      const path = `/agent-applications/${(await application()).id}/publishable-keys`
      return ['DELETE', `${path}/${(await post(path, PAGE_KEY)).id}`]
    },
  ],
  deleteAgentSession: [
    'agent_session.deleted',
    async () => {
      const { organizationId } = tenant
      const { applicationId } = await server.createApplication(organizationId, { agentKey: newId() })
      return [
        'DELETE',
        `/agent-conversations/sessions/${await insertSession(server.database.sql, organizationId, applicationId)}`,
      ]
    },
  ],
  createFeedbackSource: [
    'feedback_source.created',
    async () => ['POST', '/feedback-sources', { name: newId() }],
  ],
  renameFeedbackSource: [
    'feedback_source.updated',
    async () => ['PATCH', `/feedback-sources/${(await source()).id}`, { name: newId() }],
  ],
  deleteFeedbackSource: [
    'feedback_source.deleted',
    async () => ['DELETE', `/feedback-sources/${(await source()).id}`],
  ],
  deleteFeedbackRecord: [
    'feedback_record.deleted',
    async () => {
      const path = `/feedback-sources/${(await source()).id}/records`
      return ['DELETE', `${path}/${(await post(path, { fields: FIELDS })).id}`]
    },
  ],
  startFeedbackImport: [
    'feedback_import.started',
    async () => ['POST', `${await importPath()}/start`, { mapping: {} }],
  ],
  cancelFeedbackImport: ['feedback_import.cancelled', async () => ['DELETE', await importPath()]],
  createMetadataSource: [
    'metadata_source.created',
    async () => ['POST', '/metadata/sources', { externalEntityName: newId() }],
  ],
  renameMetadataSource: [
    'metadata_source.updated',
    async () => [
      'PATCH',
      `/metadata/sources/${(await metadataSource()).id}`,
      { externalEntityName: newId() },
    ],
  ],
  createMetadataField: [
    'metadata_field.created',
    async () => [
      'POST',
      `/metadata/sources/${(await metadataSource()).id}/fields`,
      { name: 'x', type: 'float' },
    ],
  ],
  renameMetadataField: [
    'metadata_field.updated',
    async () => {
      const { id } = await post(`/metadata/sources/${(await metadataSource()).id}/fields`, {
        name: 'x',
        type: 'float',
      })
      return ['PATCH', `/metadata/fields/${id}`, { name: 'y' }]
    },
  ],
  mergePeople: [
    'person.merged',
    async () => {
      const put = async () => (await key.put(`${REST}/people`, { email: `${newId()}@example.com` })).body
      return ['POST', `/people/${(await put()).id}/merge`, { personId: (await put()).uuid }]
    },
  ],
  erasePerson: [
    'person.erased',
    async () => {
      const { body } = await key.put(`${REST}/people`, { email: `${newId()}@example.com` })
      return ['DELETE', `/people/${body.id}`]
    },
  ],
  deleteRecording: [
    'recording.deleted',
    async () => ['DELETE', `/recordings/${(await createRecording(key, {})).id}`],
  ],
  createFolder: ['folder.created', async () => ['POST', '/folders', { name: 'x' }]],
  renameFolder: [
    'folder.updated',
    async () => ['PATCH', `/folders/${await createFolder(key)}`, { name: 'y' }],
  ],
  createRecording: ['recording.created', async () => ['POST', '/recordings', { displayName: 'x' }]],
  updateRecording: [
    'recording.updated',
    async () => ['PATCH', `/recordings/${(await createRecording(key, {})).id}`, { displayName: 'y' }],
  ],
  createProject: ['project.created', async () => ['POST', '/projects', { name: 'x' }]],
  changeProject: [
    'project.updated',
    async () => ['PATCH', `/projects/${(await project()).publicId}`, { name: 'y' }],
  ],
  deleteProject: ['project.deleted', async () => ['DELETE', `/projects/${(await project()).publicId}`]],
  associateSession: [
    'project.session_added',
    async () => [
      'POST',
      `/projects/${(await project()).publicId}/agent-sessions`,
      { sessionId: await createCodingSession(key) },
    ],
  ],
  dissociateSession: [
    'project.session_removed',
    async () => {
      const path = `/projects/${(await project()).publicId}/agent-sessions`
      const sessionId = await createCodingSession(key)
      await post(path, { sessionId })
      return ['DELETE', `${path}/${sessionId}`]
    },
  ],
  deleteFolder: ['folder.deleted', async () => ['DELETE', `/folders/${await createFolder(key)}`]],
}

/** Changes that need an administrator or the key without being in the table: each with its reason. */
const NOT_RECORDED: Readonly<Record<string, string>> = {
  deleteOrganization: 'The entry is erased with the organization; the log of the service says so.',
  previewRedaction: 'stores nothing',
  createFeedbackRecord: 'ingestion',
  createFeedbackImport: 'The start is recorded.',
  previewFeedbackImport: 'It changes nothing.',
  putPerson: 'ingestion',
  pingWebhook: 'The log of deliveries shows it.',
  recoverWebhook: 'The log of deliveries shows it.',
  redeliverWebhook: 'The log of deliveries shows it.',
  createUpload: 'ingestion',
  cancelUpload: 'ingestion',
  uploadCodingSession: 'ingestion',
  createCodingSessionUpload: 'ingestion',
  cancelCodingSessionUpload: 'ingestion',
  ask: 'It changes nothing.',
  createUploadBatch: 'An empty group of uploads, which only its user sees.',
  updateSelf: 'The name of the person, in every organization.',
  signOut: 'of the person',
  endSession: 'of the person',
  declineInvitation: 'by somebody who is no member',
}

/** Recorded, and tested elsewhere. */
const TESTED: Readonly<Record<string, string>> = {
  acceptInvitation: 'http/invitations',
  judgeSignal: 'http/signal-verdicts',
  updateTheme: 'http/themes',
  mergeThemes: 'http/themes',
  splitTheme: 'http/themes',
  moveThemeItem: 'http/themes',
  joinMeeting: 'http/meeting-joins',
  leaveMeeting: 'http/meeting-joins',
}

describe('a change', () => {
  test('of every operation of people and keys is covered here', () => {
    const needed = server.features.operations.filter(
      ({ method, access }) => method !== 'GET' && access !== 'public' && access !== 'agent',
    )
    expect(needed.length).toBeGreaterThan(25)
    const known = { ...CHANGES, ...NOT_RECORDED, ...TESTED }
    expect(needed.map(({ id }) => id).filter((id) => !(id in known))).toEqual([])
    expect(Object.values(CHANGES).map(([action]) => action)).toSatisfy(
      (all) => new Set(all).size === all.length,
    )
  })

  test.each(Object.entries(CHANGES))(
    'by %s has one entry with its request',
    async (operationId, [action, prepare]) => {
      const [method, path, body] = await prepare()
      const operation = server.features.operations.find(({ id }) => id === operationId)
      const byUser = operation?.access === 'organizationOrUser'
      const answer = await (byUser ? admin : key).send(method, `${REST}${path}`, {
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.status).toBeWithin(200, 300)
      const requestId = answer.headers.get('x-request-id')
      const found = (await entries()).filter((entry) => entry.requestId === requestId)
      expect(found).toMatchObject([
        {
          action,
          principal: byUser ? { kind: 'user', id: tenant.userId } : { kind: 'api_key' },
          object: { kind: action.split('.')[0] },
          times: 1,
        },
      ])
      const id = found[0]?.object.id ?? null
      const { secret, token, apiKey } = answer.body ?? {}
      for (const text of [secret, token, apiKey].filter((one) => one !== undefined))
        expect(JSON.stringify(found)).not.toContain(text)
      if (method === 'POST' && answer.body?.id !== undefined) expect(id).toBe(String(answer.body.id))
    },
  )

  test('that is refused has no entry', async () => {
    const before = (await entries()).length
    expect((await admin.delete(`${REST}/members/${newId()}`)).status).toBe(404)
    expect((await admin.post(`${REST}/api-keys`, { name: '' })).status).toBe(400)
    expect((await admin.patch(`${REST}/members/${tenant.userId}`, { role: 'x' })).status).toBe(400)
    expect(await entries()).toHaveLength(before)
  })

  test('does not happen if its entry cannot be written', async () => {
    const { sql } = server.database
    await sql`alter table audit_entry add constraint refuse check (action <> 'api_key.created') not valid`
    try {
      const before = (await key.get(`${REST}/api-keys?limit=100`)).body.data.length
      expect((await admin.post(`${REST}/api-keys`, { name: 'x' })).status).toBe(500)
      expect((await key.get(`${REST}/api-keys?limit=100`)).body.data).toHaveLength(before)
    } finally {
      await sql`alter table audit_entry drop constraint refuse`
    }
  })

  test('by the key names the key', async () => {
    const { id } = await post('/api-keys', { name: 'by key' })
    const [{ id: own }] = await server.database.sql<[{ id: string }]>`
      select id from api_key where organization_id = ${tenant.organizationId} and name = 'test'`
    expect(await entries(`&objectId=${id}`)).toMatchObject([
      { action: 'api_key.created', principal: { kind: 'api_key', id: own } },
    ])
  })
})

describe('a read', () => {
  test('by a user is counted and written in the background; reads by keys are not', async () => {
    const own = await server.createTenant()
    const [user, program] = [server.as({ userToken: own.userToken }), server.as({ apiKey: own.apiKey })]
    const { id } = await createRecording(program, { transcript: [utterance(0, 1)] })
    for (let count = 0; count < 3; count++) await user.get(`${REST}/recordings/${id}`)
    await user.get(`${REST}/recordings/${id}/transcript`)
    await user.get(`${REST}/recordings`)
    await user.get(`${REST}/recordings/${newId()}`)
    await program.get(`${REST}/recordings/${id}`)
    await program.get(`${REST}/recordings`)
    const found = await eventually(async () => {
      const all = (await entries('', program)).filter(({ action }) => action !== 'recording.created')
      return all.length < 3 ? false : all
    })
    const by = { kind: 'user', id: own.userId }
    expect(found.toSorted((a, b) => (a.action < b.action ? -1 : 1))).toMatchObject([
      { action: 'recording.listed', object: { kind: 'recording', id: null }, principal: by, times: 1 },
      { action: 'recording.read', object: { kind: 'recording', id }, principal: by, times: 3 },
      { action: 'transcript.read', object: { kind: 'transcript', id }, principal: by, times: 1 },
    ])
  })

  test('is written when the process stops, and kept while the database refuses it', async () => {
    const own = await server.createTenant()
    const { sql } = server.database
    const log = createReadLog(server.deps, 3_600_000)
    log.add(own, 'person.read', '7')
    await sql`alter table audit_entry add constraint refuse check (object_id <> '7') not valid`
    await log.close()
    await sql`alter table audit_entry drop constraint refuse`
    log.add(own, 'person.read', '7')
    await log.close()
    expect(await entries('', server.as({ apiKey: own.apiKey }))).toMatchObject([
      { action: 'person.read', object: { id: '7' }, times: 2 },
    ])
  })

  test('of an organization that was deleted meanwhile does not cost the others theirs', async () => {
    const own = await server.createTenant()
    const log = createReadLog(server.deps, 3_600_000)
    log.add({ organizationId: newId(), userId: newId() }, 'person.read', '1')
    log.add(own, 'person.read', '2')
    await log.close()
    expect(await entries('', server.as({ apiKey: own.apiKey }))).toMatchObject([{ object: { id: '2' } }])
  })
})

describe('the list', () => {
  test('filters by principal, action, object and time, page by page', async () => {
    const own = await server.createTenant()
    const user = server.as({ userToken: own.userToken })
    const program = server.as({ apiKey: own.apiKey })
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.push((await program.post(`${REST}/api-keys`, { name })).body.id)
    await user.post(`${REST}/credits`, { units: 1 })
    const listed = async (query: string) => (await entries(query, program)).map(({ action }) => action)
    expect(await listed(`&principalId=${own.userId}`)).toEqual(['credits.added'])
    expect(await listed('&action=api_key.created')).toHaveLength(3)
    expect(await listed(`&objectId=${ids[1]}`)).toEqual(['api_key.created'])
    const middle = (await entries(`&objectId=${ids[1]}`, program))[0]?.occurredAt ?? ''
    const [since, until] = [await listed(`&since=${middle}`), await listed(`&until=${middle}`)]
    expect([since.length, until.length]).toEqual([3, 1])
    const pages: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body }: { body: { data: Entry[]; next_cursor: string | null } } = await program.get(
        `${AUDIT}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      pages.push(...body.data.map(({ object }) => object.id ?? 'credits'))
      cursor = body.next_cursor
    }
    expect(pages).toEqual(['credits', ...ids.toReversed()])
  })

  test.each(['action=x', 'principalId=x', 'since=yesterday', 'cursor=x'])('with %s is 400', async (query) => {
    expect((await admin.get(`${AUDIT}?${query}`)).status).toBe(400)
  })

  test('shows nothing of another organization', async () => {
    const stranger = await server.createTenant()
    expect(await entries('', server.as({ apiKey: stranger.apiKey }))).toEqual([])
  })

  test('documents every action', async () => {
    const { components } = (await server.as('nobody').get('/openapi.json')).body
    expect(JSON.stringify(components.schemas.AuditAction)).toContain(ACTIONS[0] as string)
    for (const action of ACTIONS)
      expect(JSON.stringify(components.schemas.AuditAction)).toContain(`"${action}"`)
  })
})

test('entries are deleted after AUDIT_DAYS', async () => {
  const own = await server.createTenant()
  const program = server.as({ apiKey: own.apiKey })
  for (const name of ['old', 'new']) await program.post(`${REST}/api-keys`, { name })
  const [, old] = await entries('', program)
  const { sql } = server.database
  await sql`
    update audit_entry set occurred_at = now() - interval '91 days'
    where organization_id = ${own.organizationId} and object_id = ${old?.object.id ?? ''}`
  const [task] = auditMaintenance(server.deps)
  await task?.run(new AbortController().signal)
  expect((await entries('', program)).map(({ object }) => object.id)).not.toContain(old?.object.id ?? '')
  expect(await entries('', program)).toHaveLength(1)
})
