/** A real service in its own process, with the objects that a body for each operation needs, and a watcher process. */
import { join } from 'node:path'
import { linesOf } from '../../../src/analysis/analyze/lines.ts'
import type { Operation } from '../../../src/http/operation.ts'
import { asOperation } from '../../../src/http/website-operation.ts'
import { testServer } from '../../support/database.ts'
import { createSource } from '../../support/metadata.ts'
import type { Service, Services } from '../../support/process.ts'
import { createCanonicalField, createFolder, createRecording, utterance } from '../../support/recordings.ts'
import { type Credential, startTestServer } from '../../support/server.ts'
import type { Watched } from '../../support/watch-process.ts'

const NO_LIMITS = Object.fromEntries(
  [
    ...['READS', 'WRITES', 'AGENT_INGEST', 'FEEDBACK', 'FAILED_AUTHENTICATION'],
    ...['WEBSITE_READS', 'ASSISTANT', 'FORMS'],
  ].map((name) => [`RATE_LIMIT_${name}`, '0']),
)

export interface Tenant {
  readonly organizationId: string
  readonly apiKey: string
  readonly userToken: string
  readonly agentSecret: string
}

export interface Stage {
  readonly service: Service
  /** The operations that take a body. */
  readonly operations: readonly Operation[]
  createTenant(settings?: object): Promise<Tenant>
  /** Objects of the organization, by name of path parameter. */
  objectsOf(tenant: Tenant): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

export async function openStage(services: Services): Promise<Stage> {
  const beside = await startTestServer()
  const service = await services.start({
    env: {
      ...NO_LIMITS,
      DATABASE_URL: beside.database.url,
      REDIS_URL: testServer('TEST_REDIS_URL'),
      ROLE: 'api',
      WARM_UP: 'true',
      LOG_LEVEL: 'error',
    },
  })
  const { operations, website } = beside.features
  return {
    service,
    operations: [...operations, ...website.map(asOperation)].filter(({ body }) => body !== undefined),
    async createTenant(settings = {}) {
      const tenant = await beside.createTenant()
      const { agentSecret } = await beside.createApplication(tenant.organizationId, { settings })
      return { ...tenant, agentSecret }
    },
    async objectsOf({ organizationId, apiKey }) {
      const client = beside.as({ apiKey })
      const application = await beside.createApplication(organizationId, { agentKey: 'changing' })
      const source = await client.post('/v3/rest/feedback-sources', { name: 'Help desk', type: 'api' })
      const recording = await createRecording(client, {
        transcript: [utterance(0, 1)],
        participants: [{ speaker: 0, email: 'ada@example.com' }],
      })
      return {
        applicationId: application.applicationId,
        sourceId: await createSource(client),
        fieldId: await createCanonicalField(client, 'json'),
        folderId: await createFolder(client),
        recordingId: recording.id,
        feedbackSourceId: source.body.id,
      }
    },
    stop: () => beside.stop(),
  }
}

export function credentialFor(operation: Operation, tenant: Tenant): Credential {
  switch (operation.access) {
    case 'public':
      return 'nobody'
    case 'agent':
      return { agentSecret: tenant.agentSecret }
    case 'user':
    case 'person':
      return { userToken: tenant.userToken }
    default:
      return { apiKey: tenant.apiKey }
  }
}

export function pathOf(operation: Operation, objects: Readonly<Record<string, unknown>>): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(objects[name] ?? crypto.randomUUID()),
  )
}

export interface Watcher {
  /** What the watcher saw while `work` ran. */
  during(work: () => Promise<void>): Promise<Watched>
  stop(): Promise<void>
}

/** Watches a service from a process of its own. */
export async function startWatcher(service: Service): Promise<Watcher> {
  const script = join(import.meta.dir, '../../support/watch-process.ts')
  const child = Bun.spawn([process.execPath, script, `${service.baseUrl}/health`, String(service.pid)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = linesOf(child.stdout)
  const ask = async () => {
    child.stdin.write('\n')
    await child.stdin.flush()
    return JSON.parse((await lines.next()).value ?? '') as Watched
  }
  await lines.next()
  return {
    async during(work) {
      await ask()
      await work()
      return ask()
    },
    async stop() {
      await child.stdin.end()
      await child.exited
    },
  }
}
