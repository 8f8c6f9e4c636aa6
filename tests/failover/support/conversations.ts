/**
 * Clients that send conversations to a running service, message by message. Each message is sent until it is accepted, as our SDKs do.
 * So what was answered 200 is known, and it must be stored exactly once.
 */
import { expect } from 'bun:test'
import type { Sql } from '../../../src/platform/db/pool.ts'
import { runCommand } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { rounds } from '../../support/rounds.ts'

/** A client waits so long for an answer. Every request must be answered earlier, also in an outage, and on a busy machine. */
export const PATIENCE_MS = 30_000
/** Between two messages of a client. */
const PAUSE_MS = rounds(60, 20)

export interface Account {
  readonly agentKey: string
  readonly agentSecret: string
  readonly apiKey: string
}

/** Prepares the database, by `earshot init`. */
export async function openAccount(env: Readonly<Record<string, string>>): Promise<Account> {
  const { code, out, err } = await runCommand(['init', '--json'], env)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

export interface Conversations {
  /** Answers by status; 0: no answer in time or a lost connection. */
  readonly answers: ReadonlyMap<number, number>
  /** Resolves once this many further messages were accepted. */
  accept(count: number): Promise<void>
  /** Ends the clients, when their last messages were accepted. */
  stop(): Promise<void>
  /** Expects that every message that was accepted is stored once and was processed, and that nothing else is stored twice. */
  verify(sql: Sql): Promise<void>
}

export function startConversations(baseUrl: string, account: Account, clients = 4): Conversations {
  const accepted = new Set<string>()
  const answers = new Map<number, number>()
  const run = crypto.randomUUID().slice(0, 8)
  let isStopped = false

  async function send(session: string, sequence: number): Promise<boolean> {
    const event = { externalEventId: `${session} ${sequence}`, sequence, revision: 1, final: true }
    const body = {
      agentKey: account.agentKey,
      externalSessionId: session,
      events: [
        { ...event, occurredAt: '2026-01-02T09:00:00Z', type: 'user_message', content: 'How do I export?' },
      ],
    }
    const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': account.agentSecret },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).catch(() => null)
    await response?.text().catch(() => '')
    const status = response?.status ?? 0
    answers.set(status, (answers.get(status) ?? 0) + 1)
    if (status === 503) expect(Number(response?.headers.get('retry-after'))).toBeGreaterThan(0)
    return status === 200
  }

  async function converse(client: number): Promise<void> {
    for (let sequence = 1; !isStopped; ) {
      const session = `${run} ${client}`
      if (await send(session, sequence)) accepted.add(`${session} ${sequence++}`)
      await Bun.sleep(PAUSE_MS)
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, client) => converse(client)))
  return {
    answers,
    async accept(count) {
      const goal = accepted.size + count
      await eventually(() => accepted.size >= goal, { deadlineMs: 60_000 })
    },
    async stop() {
      isStopped = true
      await running
    },
    async verify(sql) {
      const stored = await sql<{ id: string; count: number }[]>`
        select external_event_id as id, count(*) from agent_event
        where external_event_id like ${`${run} %`} group by 1`
      const counts = new Map(stored.map(({ id, count }) => [id, count]))
      expect({
        lost: [...accepted].filter((id) => !counts.has(id)),
        doubled: stored.filter(({ count }) => count > 1),
      }).toEqual({ lost: [], doubled: [] })
      await eventually(
        async () => {
          const rows = await sql`
            select from agent_session
            where external_session_id like ${`${run} %`} and processing_status <> 'completed'`
          return rows.length === 0
        },
        { deadlineMs: 60_000 },
      )
    },
  }
}
