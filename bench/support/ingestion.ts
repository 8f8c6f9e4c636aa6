/** Agent conversations for benchmarks: an application with its secret, events, and HTTP callers. */
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createFeatures } from '../../src/app/features.ts'
import type { Environment } from './environment.ts'
import { type Contestant, inParallel } from './measure.ts'

/** Concurrent HTTP callers. */
export const CALLERS = 16

export interface Tenant {
  readonly organizationId: string
  readonly applicationId: string
  readonly agentSecret: string
  readonly apiKey: string
}

/** An organization with one application. */
export async function createTenant({ databaseUrl }: Pick<Environment, 'databaseUrl'>): Promise<Tenant> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity, applications } = createFeatures(container)
    const { id: organizationId } = await identity.createOrganization('bench')
    const { id: applicationId } = await applications.create(organizationId, {
      agentKey: 'bench',
      name: 'bench',
    })
    const { agentSecret } = await identity.createSecret(organizationId, applicationId)
    const { apiKey } = await identity.createApiKey(organizationId, 'bench')
    return { organizationId, applicationId, agentSecret, apiKey }
  } finally {
    await container.close()
  }
}

const TEXT = 'The report that I get every Monday has shown last week’s numbers since the update. '

/** The question of a user at odd sequences, the answer at even ones. */
export function event(sequence: number) {
  const isUser = sequence % 2 === 1
  return {
    externalEventId: `event-${sequence}`,
    sequence,
    revision: 1,
    occurredAt: '2026-01-02T09:00:00.000Z',
    type: isUser ? 'user_message' : 'assistant_message',
    final: true,
    content: TEXT.repeat(3),
    ...(isUser
      ? {}
      : {
          model: { provider: 'example', name: 'assistant-1' },
          usage: { inputTokens: 512, outputTokens: 80 },
        }),
  }
}

/** Every caller sends its own conversations in sequence and starts a new one after 1,000 events. */
export function overHttp(
  baseUrl: string,
  { agentSecret }: Pick<Tenant, 'agentSecret'>,
  size: number,
): Contestant {
  const send = async (session: string, first: number) => {
    const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
      body: JSON.stringify({
        agentKey: 'bench',
        externalSessionId: session,
        events: Array.from({ length: size }, (_, offset) => event(first + offset)),
      }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  return {
    name: 'Earshot over HTTP',
    async run(amount) {
      const requests = amount / size / CALLERS
      await inParallel(CALLERS, CALLERS, async () => {
        let session = ''
        for (let request = 0; request < requests; request++) {
          const position = (request * size) % 1000
          if (position === 0) session = Bun.randomUUIDv7()
          await send(session, position + 1)
        }
      })
    },
  }
}
