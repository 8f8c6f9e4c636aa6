/**
 * The load of a trial: agent conversations over HTTP, each request sent until it is answered with 200, and probe
 * messages straight into the mailboxes.
 *
 * Every conversation that was begun is finished, so the final state of every session is known.
 */
import { send } from '../../../src/actors/mailbox.ts'
import type { ActorKey } from '../../../src/actors/types.ts'
import { loadConfig } from '../../../src/app/config.ts'
import { createContainer } from '../../../src/app/container.ts'
import { createFeatures } from '../../../src/app/features.ts'
import { transaction } from '../../../src/platform/db/transaction.ts'
import type { Cluster } from './cluster.ts'

const INGEST = '/v3/rest/agent-conversations/ingest'
/** Requests of a conversation, sent in this order; requests on one line are sent at once. */
const ROUNDS = [[0], [2, 1], [3]] as const
export const REQUESTS_PER_SESSION = ROUNDS.flat().length
export const EVENTS_PER_REQUEST = 3
export const EVENTS_PER_SESSION = REQUESTS_PER_SESSION * EVENTS_PER_REQUEST
export const CREDITS = 10_000_000
const REQUEST_TIMEOUT_MS = 10_000
const PROBE_KEYS = 48

export interface Account {
  readonly organizationId: string
  readonly agentKey: string
  readonly agentSecret: string
}

/** Two organizations; the first pays by credits. */
export async function openAccounts(cluster: Cluster): Promise<readonly [Account, Account]> {
  const config = loadConfig({ LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: cluster.postgres.url }, redis: null }, 'trial')
  try {
    const { identity, applications } = createFeatures(container)
    const open = async (agentKey: string): Promise<Account> => {
      const { id: organizationId } = await identity.createOrganization(agentKey)
      const { id } = await applications.create(organizationId, { agentKey, name: agentKey, settings: {} })
      const { agentSecret } = await applications.createSecret(organizationId, id)
      return { organizationId, agentKey, agentSecret }
    }
    const [limited, free] = [await open('trial-limited'), await open('trial-free')]
    await identity.setCredits(limited.organizationId, CREDITS)
    return [limited, free]
  } finally {
    await container.close()
  }
}

export interface Counts {
  sessions: number
  /** Requests with status 200, with 503, with another status (an error), and without a response. */
  accepted: number
  refused: number
  failed: number
  unanswered: number
  probes: number
}

export interface Load {
  readonly counts: Readonly<Counts>
  /** Starts no further conversations; resolves once every started one was accepted. */
  stop(): Promise<void>
}

export interface LoadOptions {
  /** At the same time. */
  readonly conversations: number
  /** Pause of each client between two requests, at most. */
  readonly pauseMs: number
  /** Pause between two probes. Default: half of `pauseMs`. */
  readonly probeMs?: number
  /** The number of the first session. Names are never reused. */
  readonly from?: number
}

export function startLoad(
  cluster: Cluster,
  accounts: readonly [Account, Account],
  options: LoadOptions,
): Load {
  const counts: Counts = { sessions: 0, accepted: 0, refused: 0, failed: 0, unanswered: 0, probes: 0 }
  let stopped = false
  const converse = async () => {
    while (!stopped) {
      const index = (options.from ?? 0) + counts.sessions++
      for (const round of ROUNDS) {
        await Promise.all(round.map((request) => deliver(cluster, accounts, index, request, counts)))
        await Bun.sleep(Math.random() * options.pauseMs)
      }
    }
  }
  const probe = async () => {
    const keys = Array.from(
      { length: PROBE_KEYS },
      (_, index): ActorKey => `${index % 3 > 0 ? 'session' : 'analysis'}:${crypto.randomUUID()}`,
    )
    while (!stopped) {
      const key = keys[Math.floor(Math.random() * keys.length)]!
      await transaction(cluster.sql, (tx) => send(tx, [{ key, type: 'probe' }])).then(
        () => void counts.probes++,
        () => {}, // the server is away; whether it was stored is seen in the mailbox
      )
      await Bun.sleep(options.probeMs ?? options.pauseMs / 2)
    }
  }
  const running = Promise.all([...Array.from({ length: options.conversations }, converse), probe()])
  return {
    counts,
    async stop() {
      stopped = true
      await running
    },
  }
}

/** Repeats one request until it is answered with 200. */
async function deliver(
  cluster: Cluster,
  accounts: readonly [Account, Account],
  index: number,
  request: number,
  counts: Counts,
): Promise<void> {
  const { agentKey, agentSecret } = accounts[index % 2 === 0 ? 0 : 1]
  const body = JSON.stringify({
    agentKey,
    externalSessionId: `session ${index}`,
    events: eventsOf(request),
    ...(request === REQUESTS_PER_SESSION - 1 ? { status: 'ended' } : {}),
  })
  const headers = { 'content-type': 'application/json', 'x-service-agent-key': agentSecret }
  for (;;) {
    try {
      const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
      const response = await fetch(`${cluster.baseUrl}${INGEST}`, { method: 'POST', headers, body, signal })
      const text = await response.text()
      if (response.status === 200) return void counts.accepted++
      // A bad request would be refused forever.
      if (response.status < 500) throw new BadTrial(`${response.status}: ${text}`)
      if (response.status === 503) counts.refused++
      else counts.failed++
    } catch (error) {
      if (error instanceof BadTrial) throw error
      counts.unanswered++
    }
    await Bun.sleep(100 + Math.random() * 400)
  }
}

class BadTrial extends Error {
  override readonly name = 'BadTrial'
}

/** A question, its answer, and feedback on the answer. */
function eventsOf(request: number) {
  const first = request * EVENTS_PER_REQUEST + 1
  const event = (prefix: string, type: string, sequence: number, members: object) => ({
    externalEventId: `${prefix}${sequence}`,
    sequence,
    revision: 1,
    occurredAt: '2026-01-02T09:00:00Z',
    type,
    final: true,
    ...members,
  })
  return [
    event('u', 'user_message', first, { content: 'How do I export my data?' }),
    event('a', 'assistant_message', first + 1, { content: 'Under Settings, Export.' }),
    event('f', 'feedback', first + 2, {
      feedback: { targetEventExternalId: `a${first + 1}`, rating: 'positive' },
    }),
  ]
}
