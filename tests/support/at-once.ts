/**
 * Pairs of operations that touch the same kind of object, from the OpenAPI document, and fresh objects for each round of them.
 */

import { newId } from '../../src/platform/ids.ts'
import { insertSession } from './agents-http.ts'
import { createCodingSession, createSessionUpload } from './coding-sessions.ts'
import { createImport } from './feedback-imports.ts'
import { insertFinding } from './findings.ts'
import { invite } from './foreign-objects.ts'
import { insertTheme } from './insert-theme.ts'
import { insertEndedJoin } from './meetings.ts'
import { createField, createSource } from './metadata.ts'
import { requestOf, span } from './otlp.ts'
import { createFolder, createRecording, utterance } from './recordings.ts'
import { type Credential, clientOf, type TestServer, type TestTenant } from './server.ts'

/** An operation of the document that changes something. */
export interface Change {
  readonly id: string
  readonly method: string
  readonly path: string
  /** Names of security schemes. */
  readonly security: readonly string[]
  readonly example: unknown
}

// biome-ignore lint/suspicious/noExplicitAny: the document, as it came over the wire
type Json = any

/** Every operation of `/v3/rest` that changes something, and the traces of OpenTelemetry. */
export function changesOf(document: Json): readonly Change[] {
  const found: Change[] = []
  for (const [path, item] of Object.entries<Json>(document.paths))
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (method === 'get' || !path.startsWith('/v3/rest/')) continue
      found.push({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        security: operation.security?.flatMap((scheme: object) => Object.keys(scheme)) ?? [],
        example: operation.requestBody?.content?.['application/json']?.example,
      })
    }
  return [...found, TRACES]
}

const TRACES: Change = {
  id: 'traces',
  method: 'POST',
  path: '/v1/traces',
  security: ['agentSecret'],
  example: requestOf([
    span(1, 0, { 'gen_ai.conversation.id': 'chat-2041', 'gen_ai.operation.name': 'chat' }),
  ]),
}

/** Kinds of objects that are not in the path. */
const TOUCHES: Readonly<Record<string, readonly string[]>> = {
  ingestAgentConversation: ['agent-applications', 'sessions', 'people', 'credits'],
  appendAgentConversation: ['agent-applications', 'sessions', 'people', 'credits'],
  traces: ['agent-applications', 'sessions'],
  createUserToken: ['members'],
  createFeedbackRecord: ['people'],
  createRecording: ['folders', 'metadata', 'people'],
  updateRecording: ['folders', 'people'],
  associateSession: ['coding-sessions'],
  createUpload: ['folders'],
  moveThemeItem: ['themes'],
  splitTheme: ['theme-items'],
  mergeThemes: ['theme-items'],
  judgeSignal: ['sessions', 'recordings', 'feedback-sources'],
  updateAgentApplication: ['members'],
}

/** They end the credential of the pair, or are about the process. */
const ALONE = new Set(['deleteSession', 'previewRedaction'])

function kindsOf({ id, path }: Change): ReadonlySet<string> {
  const named = path
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{') && !['v3', 'v1', 'rest'].includes(part))
  return new Set([...named.slice(0, 1), ...(TOUCHES[id] ?? [])])
}

/** Every pair, each operation with itself, too. */
export function pairsOf(changes: readonly Change[]): readonly (readonly [Change, Change])[] {
  const used = changes.filter(({ id }) => !ALONE.has(id))
  return used.flatMap((one, n) =>
    used.slice(n).flatMap((other) => {
      const kinds = kindsOf(other)
      return [...kindsOf(one)].some((kind) => kinds.has(kind)) ? [[one, other] as const] : []
    }),
  )
}

/** Addresses of servers of customers. */
export interface Outside {
  readonly webhook: string
  readonly zendesk: string
}

const NOWHERE: Outside = { webhook: 'https://example.com/', zendesk: 'https://example.zendesk.com' }

/** Objects that are made when a path or a body first names them. */
export class Objects {
  readonly #made = new Map<string, Promise<Json>>()

  /** `outside`: servers of customers. Name them if workers run, which send requests there. */
  constructor(
    private readonly server: TestServer,
    readonly tenant: TestTenant,
    private readonly outside: Outside = NOWHERE,
  ) {}

  get #client() {
    return this.server.as({ apiKey: this.tenant.apiKey })
  }

  /** The object that this path parameter names. */
  get(name: string): Promise<Json> {
    const known = this.#made.get(name)
    if (known !== undefined) return known
    const made = this.#make(name)
    this.#made.set(name, made)
    return made
  }

  async path({ path }: Change): Promise<string> {
    const names = path.match(/(?<=\{)\w+(?=\})/g) ?? []
    const values = new Map<string, string>()
    for (const name of names) values.set(name, String(await this.get(name)))
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? '')
  }

  /** The example of the operation, about these objects. */
  async body({ id, example }: Change): Promise<Json> {
    switch (id) {
      case 'ingestAgentConversation':
      case 'appendAgentConversation':
        return { ...(example as object), agentKey: (await this.get('application')).agentKey }
      case 'createWebhook':
        return { ...(example as object), url: this.outside.webhook }
      case 'createImportSource':
        return { ...(example as object), url: this.outside.zendesk }
      case 'createUserToken':
        return { ...(example as object), userId: await this.get('memberId') }
      case 'updateSelf':
        return { weeklyMail: true }
      case 'associateSession':
        return { sessionId: await this.get('codingSessionId') }
      case 'mergePeople':
        return { personId: await this.get('otherPersonId') }
      case 'mergeThemes':
      case 'moveThemeItem':
        return { themeId: await this.get('otherThemeId') }
      case 'splitTheme':
        return { itemIds: [Number(await this.get('itemId')), Number(await this.get('otherItemId'))] }
      case 'createRecording':
      case 'updateRecording':
        return { ...(example as object), folderIds: [await this.get('folderId')] }
      case 'createUpload':
        return { ...(example as object), folderId: await this.get('folderId') }
      default:
        return example
    }
  }

  async credential({ security }: Change): Promise<Credential> {
    if (security.includes('agentSecret')) return { agentSecret: (await this.get('application')).agentSecret }
    if (security.includes('apiKey')) return { apiKey: this.tenant.apiKey }
    return { userToken: (await this.get('user')).userToken }
  }

  async #make(name: string): Promise<Json> {
    const { server, tenant } = this
    const client = this.#client
    const { sql } = server.database
    const { organizationId } = tenant
    const posted = async (path: string, body: object) => {
      const answer = await client.post(path, body)
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body
    }
    switch (name) {
      case 'application':
        return server.createApplication(organizationId, { agentKey: `agent-${newId()}` })
      case 'applicationId':
        return (await this.get('application')).applicationId
      case 'secretId':
        return (await this.get('application')).secretId
      case 'publishableKeyId': {
        const path = `/v3/rest/agent-applications/${await this.get('applicationId')}/publishable-keys`
        return (await posted(path, { name: 'Page', origins: ['https://www.example.com'] })).id
      }
      case 'importSourceId': {
        const path = `/v3/rest/agent-applications/${await this.get('applicationId')}/import-sources`
        return (await posted(path, { provider: 'zendesk', url: this.outside.zendesk, secret: 'x' })).id
      }
      case 'sessionId':
        return insertSession(sql, organizationId, await this.get('applicationId'))
      case 'signalId':
        return insertFinding(sql, organizationId, {
          channel: 'recording',
          recording_id: await this.get('recordingId'),
        })
      case 'apiKeyId':
        return (await posted('/v3/rest/api-keys', { name: 'another' })).id
      case 'user':
        return server.createUser(organizationId)
      case 'memberId':
        return (await this.get('user')).userId
      case 'invitingId': {
        const inviting = (await server.createTenant()).organizationId
        await invite(server, inviting, await this.get('memberId'))
        return inviting
      }
      case 'tokenId':
        return (await posted('/v3/rest/user-tokens', { userId: await this.get('memberId') })).id
      case 'userSessionId':
        return (await server.features.identity.createSession(await this.get('memberId'), null)).id
      case 'sourceId':
        return createSource(client)
      case 'fieldId':
        return createField(client, await this.get('sourceId'))
      case 'folderId':
        return createFolder(client)
      case 'recording': {
        const recording = await createRecording(client, {
          transcript: [utterance(0, 1)],
          participants: [{ speaker: 0, email: `${newId()}@example.com` }],
        })
        await insertEndedJoin(sql, organizationId, recording.id)
        return recording
      }
      case 'recordingId':
        return (await this.get('recording')).id
      case 'uploadId':
        return (
          await posted(`/v3/rest/recordings/${await this.get('recordingId')}/uploads`, {
            fileName: 'call.mp4',
            fileSize: 25_000_000,
          })
        ).uploadId
      case 'feedbackSourceId':
        return (await posted('/v3/rest/feedback-sources', { name: newId(), type: 'api' })).id
      case 'feedbackRecordId': {
        const person = await client.put('/v3/rest/people', { email: `${newId()}@example.com` })
        const path = `/v3/rest/feedback-sources/${await this.get('feedbackSourceId')}/records`
        const fields = [{ category: 'content', type: 'string', name: 'comment', value: 'It is slow.' }]
        return (await posted(path, { person_id: person.body.id, external_id: newId(), fields })).id
      }
      case 'importId':
        return createImport(client, await this.get('feedbackSourceId'), sql)
      case 'personId':
        return (await client.put('/v3/rest/people', { email: 'ada@example.com', first_name: 'Ada' })).body.id
      case 'otherPersonId':
        return (await client.put('/v3/rest/people', { email: `${newId()}@example.com` })).body.uuid
      case 'themes':
        return insertTheme(sql, organizationId)
      case 'themeId':
      case 'otherThemeId':
      case 'itemId':
      case 'otherItemId':
        return (await this.get('themes'))[name]
      case 'webhookId':
        return (await posted('/v3/rest/webhooks', { url: this.outside.webhook, types: ['*'] })).id
      case 'deliveryId': {
        const { id } = await posted(`/v3/rest/webhooks/${await this.get('webhookId')}/ping`, {})
        await sql`update webhook_delivery set status = 'delivered' where id = ${id}`
        await sql`delete from actor_message where key = ${`webhook_delivery:${id}`}`
        return id
      }
      case 'publicId':
        return (await posted('/v3/rest/projects', { name: newId() })).publicId
      case 'codingSessionId':
        return createCodingSession(client)
      case 'codingUploadId':
        return createSessionUpload(client)
      case 'actorKey': {
        const key = `session:${await this.get('sessionId')}`
        await sql`insert into actor_mailbox (key, organization_id, last_seq) values (${key}, ${organizationId}, 1)`
        await sql`
          insert into actor_dead_letter (key, seq, type, payload, attempts) values (${key}, 1, 'events_stored', '{}', 3)`
        return key
      }
      case 'messageNumber':
        await this.get('actorKey')
        return '1'
      default:
        throw new Error(`no object is known for ${name}`)
    }
  }
}

/** Sends one change of the pair. @returns the status and the code */
export async function sendChange(
  baseUrl: string,
  objects: Objects,
  change: Change,
): Promise<() => Promise<string>> {
  const [path, body, credential] = [
    await objects.path(change),
    await objects.body(change),
    await objects.credential(change),
  ]
  const client = clientOf(baseUrl, credential)
  const headers = { 'content-type': 'application/json' }
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers }
  return async () => {
    const answer = await client.send(change.method, path, init)
    return `${answer.status} ${answer.body?.code ?? ''}`.trim()
  }
}
