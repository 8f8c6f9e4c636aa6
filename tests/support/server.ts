/**
 * The service inside the test process: its own database, the real container, and real HTTP on a free port of the
 * loopback interface. Rate limits are off unless `env` sets them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { forwardTriggerWakeUps } from '../../src/actors/trigger-wake-ups.ts'
import { createApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/app/config.ts'
import { type Container, createContainer } from '../../src/app/container.ts'
import { createFeatures, type Features } from '../../src/app/features.ts'
import type { Recorder } from '../../src/calls/meetings/recorder.ts'
import type { SettingsChange } from '../../src/hear/agents/applications/model.ts'
import type { WebsiteOptions } from '../../src/http/website-mount.ts'
import type { Role } from '../../src/kernel/roles.rules.ts'
import type { Query } from '../../src/platform/db/pool.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { shareTextProcesses } from './text-processes.ts'

export interface TestServerOptions {
  /** Environment variables of the service, such as `RATE_LIMIT_READS`. */
  readonly env?: Readonly<Record<string, string>>
  /** A Redis for this test alone (see private-redis.ts). Default: the service runs without Redis. */
  readonly redis?: string
  /** URL of another PostgreSQL server than that of the check, such as one that the test crashes. */
  readonly databaseServer?: string
  /** Also runs the actors in this process, with these options if given. */
  readonly actors?: boolean | Partial<RuntimeOptions>
  /** Versions and window of the website API. */
  readonly website?: WebsiteOptions
  /** Gets the statements of lists; see plans.ts. */
  readonly reads?: (reads: Query) => Query
  /** Joins meetings instead of the recorder of the settings. */
  readonly recorder?: Recorder
  /** Commits as worker threads do, which do not wait for the disk. */
  readonly redoable?: boolean
  /** Another server, which stops later. This one is a second process on its database. */
  readonly beside?: TestServer
}

/** An organization with its credentials. */
export interface TestTenant {
  readonly organizationId: string
  readonly apiKey: string
  readonly userId: string
  readonly userToken: string
}

export interface TestApplication {
  readonly applicationId: string
  readonly agentKey: string
  readonly agentSecret: string
  readonly secretId: string
}

export interface TestServer {
  readonly baseUrl: string
  readonly database: TestDatabase
  readonly deps: Container
  readonly features: Features
  createTenant(name?: string): Promise<TestTenant>
  /** An administrator, unless `role` says otherwise. */
  createUser(organizationId: string, role?: Role): Promise<Pick<TestTenant, 'userId' | 'userToken'>>
  createApplication(
    organizationId: string,
    options?: { readonly agentKey?: string; readonly settings?: SettingsChange },
  ): Promise<TestApplication>
  /** Sends requests with one credential; see `clientOf`. */
  as(credential: Credential): Client
  stop(): Promise<void>
}

export type Credential =
  | { readonly apiKey: string }
  | { readonly agentSecret: string }
  | { readonly userToken: string }
  | { readonly publishableKey: string }
  | 'nobody'

/** Each connection costs PostgreSQL some milliseconds, and plans its first statements anew. */
const FEW_CONNECTIONS = { DATABASE_POOL_SIZE: '4' }

/** Settings of a service without rate limits. */
export const LIMITS_OFF = {
  RATE_LIMIT_READS: '0',
  RATE_LIMIT_WRITES: '0',
  RATE_LIMIT_AGENT_INGEST: '0',
  RATE_LIMIT_FEEDBACK: '0',
  RATE_LIMIT_TOOLS: '0',
  RATE_LIMIT_FAILED_AUTHENTICATION: '0',
  RATE_LIMIT_WEBSITE_READS: '0',
  RATE_LIMIT_ASSISTANT: '0',
  RATE_LIMIT_FORMS: '0',
  RATE_LIMIT_SIGN_IN: '0',
  RATE_LIMIT_MEETING_JOINS: '0',
  RATE_LIMIT_RECORDER_HOOKS: '0',
  RATE_LIMIT_WIDGET_KEY: '0',
  RATE_LIMIT_WIDGET_ADDRESS: '0',
}

/** Starts the service. `stop` also drops the database. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-data-'))
  const database = options.beside?.database ?? (await createTestDatabase({ server: options.databaseServer }))
  const config = loadConfig({
    LOG_LEVEL: 'silent',
    DATA_DIR: dataDir,
    ...FEW_CONNECTIONS,
    ...LIMITS_OFF,
    ...options.env,
  })
  const servers = { database: { url: database.url }, redis: options.redis ?? null }
  const container = createContainer(config, servers, 'test', {
    textWork: shareTextProcesses(),
    redoable: options.redoable ?? false,
  })
  const deps = {
    ...container,
    reads: options.reads?.(container.reads) ?? container.reads,
    recorder: options.recorder ?? container.recorder,
  }
  const features = createFeatures(deps)
  const app = createApp(deps, { website: options.website ?? {}, features }).listen({
    hostname: '127.0.0.1',
    port: 0,
  })
  const runtime = await startActors(deps, features, options.actors ?? false)
  const baseUrl = `http://127.0.0.1:${app.server?.port}`
  return {
    baseUrl,
    database,
    deps,
    features,
    ...tenants(features),
    as: (credential) => clientOf(baseUrl, credential),
    async stop() {
      await features.eventStream.stop()
      await app.stop(true)
      await features.readLog.close()
      await runtime?.stop(STOP_BUDGET_MS)
      await deps.close()
      if (options.beside === undefined) await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

const STOP_BUDGET_MS = 5_000
const TOKEN_LIFETIME_SECONDS = 3600

async function startActors(
  deps: Container,
  features: Features,
  actors: boolean | Partial<RuntimeOptions>,
): Promise<Pick<Runtime, 'stop'> | null> {
  if (actors === false) return null
  const runtime = createRuntime(deps, features.actors, actors === true ? {} : actors)
  await runtime.start()
  const forwarding = await forwardTriggerWakeUps(deps)
  return {
    async stop(budgetMs) {
      await forwarding.close()
      await runtime.stop(budgetMs)
    },
  }
}

function tenants({ identity, applications }: Features) {
  const createUser = async (organizationId: string, role: Role = 'administrator') => {
    const name = crypto.randomUUID()
    const { id } = await identity.createUser(organizationId, { email: `${name}@example.com`, name, role })
    return { userId: id, userToken: await identity.createUserToken(id, TOKEN_LIFETIME_SECONDS) }
  }
  return {
    createUser,
    async createTenant(name = `tenant ${crypto.randomUUID()}`): Promise<TestTenant> {
      const { id: organizationId } = await identity.createOrganization(name)
      const { apiKey } = await identity.createApiKey(organizationId, 'test')
      return { organizationId, apiKey, ...(await createUser(organizationId)) }
    },
    async createApplication(
      organizationId: string,
      options: { readonly agentKey?: string; readonly settings?: SettingsChange } = {},
    ): Promise<TestApplication> {
      const { agentKey = 'demo', settings = {} } = options
      const { id } = await applications.create(organizationId, { agentKey, name: agentKey, settings })
      const secret = await applications.createSecret(organizationId, id)
      return { applicationId: id, agentKey, agentSecret: secret.agentSecret, secretId: secret.id }
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, or null without a body. It has no type, because tests inspect it with `expect`. */
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  readonly body: any
}

export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  delete(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends `body` as JSON. Strings and bytes are sent unchanged. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  send(method: string, path: string, init?: RequestInit): Promise<Answer>
}

/** A JSON client for `baseUrl` with one credential. */
export function clientOf(baseUrl: string, credential: Credential): Client {
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = { ...credentialHeaders(credential), ...(init.headers as Record<string, string>) }
    const response = await fetch(`${baseUrl}${path}`, { ...init, method, headers })
    const text = await response.text()
    const isText = response.headers.get('content-type')?.startsWith('text/') ?? false
    const body = text === '' ? null : isText ? text : JSON.parse(text)
    return { status: response.status, headers: response.headers, body }
  }
  const sendJson = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(method, path, {
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  return {
    get: (path, headers = {}) => send('GET', path, { headers }),
    delete: (path, headers = {}) => send('DELETE', path, { headers }),
    post: (path, body, headers) => sendJson('POST', path, body, headers),
    patch: (path, body, headers) => sendJson('PATCH', path, body, headers),
    put: (path, body, headers) => sendJson('PUT', path, body, headers),
    send,
  }
}

export function credentialHeaders(credential: Credential): Record<string, string> {
  if (credential === 'nobody') return {}
  if ('apiKey' in credential) return { 'x-service-api-key': credential.apiKey }
  if ('agentSecret' in credential) return { 'x-service-agent-key': credential.agentSecret }
  if ('publishableKey' in credential) return { 'x-service-publishable-key': credential.publishableKey }
  return { authorization: `Bearer ${credential.userToken}` }
}
