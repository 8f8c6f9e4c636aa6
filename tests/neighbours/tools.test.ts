/** The tools of coding agents, called by many users of one organization. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import type { LoadRequest } from './support/load.ts'
import { expectNeighbourUnharmed, type Neighbours, useNeighbours } from './support/neighbours.ts'

setDefaultTimeout(300_000)

const neighbours = useNeighbours()

/** More than one user may have open. */
const USERS = 10
const tokens: string[] = []

async function callsOf({ server, attacker }: Neighbours): Promise<readonly LoadRequest[]> {
  while (tokens.length < USERS)
    tokens.push((await server.createUser(attacker.tenant.organizationId)).userToken)
  const tools = [
    ['search-customer-voice', { query: 'export data' }],
    ['get-insights', { by: 'week' }],
    ['list-associated-agent-sessions', { resourceType: 'project', publicId: crypto.randomUUID() }],
  ] as const
  return tokens.flatMap((token) =>
    tools.map(([name, args]) => ({
      method: 'POST',
      path: '/mcp',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })),
  )
}

test('100 calls of tools at a time harm nobody', async () => {
  const statuses = await expectNeighbourUnharmed(neighbours(), { clients: 100, requests: callsOf })
  expect(Object.keys(statuses).every((status) => ['200', '429', '503'].includes(status))).toBe(true)
  expect(statuses['200']).toBeGreaterThan(0)
})
