/**
 * Clients that send conversations, one request after the other, while servers go and come back. No request is sent twice, so a
 * failed one is a failure that a client would have seen.
 */
import { expect } from 'bun:test'
import { type Agent, assistantMessage, INGEST, userMessage } from '../../support/agents.ts'
import { eventually } from '../../support/eventually.ts'
import { rounds } from '../../support/rounds.ts'
import type { TestServer } from '../../support/server.ts'

const EVENTS_PER_REQUEST = 2
const PAUSE_MS = rounds(50, 15)
const REQUEST_TIMEOUT_MS = 15_000

export interface SteadyLoad {
  /** Requests answered with 200 so far. */
  readonly acknowledged: number
  /** Every other answer, and requests without one. */
  readonly failures: readonly string[]
  /** Resolves when `count` more requests were answered with 200. */
  more(count: number): Promise<unknown>
  /** Ends the clients after their running requests. */
  stop(): Promise<void>
}

export function startSteadyLoad(baseUrl: string, agent: Agent, clients: number): SteadyLoad {
  const failures: string[] = []
  let acknowledged = 0
  let stopped = false
  const url = `${baseUrl}${INGEST}`
  const headers = { 'content-type': 'application/json', 'x-service-agent-key': agent.agentSecret }
  const converse = async (_: unknown, client: number) => {
    for (let request = 0; !stopped; request += 1) {
      const first = request * EVENTS_PER_REQUEST + 1
      const events = [userMessage(first), assistantMessage(first + 1)]
      const body = JSON.stringify(agent.request(events, { externalSessionId: `client ${client}` }))
      try {
        const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
        const response = await fetch(url, { method: 'POST', headers, body, signal })
        const text = await response.text()
        if (response.status === 200) acknowledged += 1
        else failures.push(`${response.status} ${text}`)
      } catch (error) {
        failures.push(String(error))
      }
      await Bun.sleep(PAUSE_MS)
    }
  }
  const running = Promise.all(Array.from({ length: clients }, converse))
  return {
    get acknowledged() {
      return acknowledged
    },
    failures,
    more(count) {
      const goal = acknowledged + count
      return eventually(() => acknowledged >= goal)
    },
    async stop() {
      stopped = true
      await running
    },
  }
}

/** Every acknowledged request is stored and billed once, and nothing else is; the workers have processed all of it. */
export async function expectStoredOnce({ database: { sql } }: TestServer, load: SteadyLoad): Promise<void> {
  await eventually(async () => {
    const [row] = await sql`
      select
        (select count(*) from agent_event) as events,
        (select count(*) from agent_usage) as units,
        (select count(*) from agent_session where processing_status <> 'completed') as unprocessed`
    expect(row).toEqual({
      events: load.acknowledged * EVENTS_PER_REQUEST,
      units: load.acknowledged,
      unprocessed: 0,
    })
  })
}
