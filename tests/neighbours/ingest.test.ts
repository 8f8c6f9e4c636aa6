/** Large bodies of one organization do not delay the events of another. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { INGEST, userMessage } from '../support/agents.ts'
import { credentialHeaders } from '../support/server.ts'
import { expectNeighbourUnharmed, type Neighbours, useNeighbours } from './support/neighbours.ts'

setDefaultTimeout(240_000)

const neighbours = useNeighbours()

/** 500 events of about 4 KB. */
const text = 'How do I export my data, and what do the invoices of last month contain? '.repeat(55)
const requestOf = ({ attacker }: Neighbours) => ({
  agentKey: attacker.agentKey,
  externalSessionId: 'large {{number}}',
  events: Array.from({ length: 500 }, (_, index) => userMessage(index + 1, { content: text })),
})

test('bodies of 2 MiB', async () => {
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 8,
    requests: (all) => [
      {
        method: 'POST',
        path: INGEST,
        headers: {
          'content-type': 'application/json',
          ...credentialHeaders({ agentSecret: all.attacker.agentSecret }),
        },
        body: JSON.stringify(requestOf(all)),
      },
    ],
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})
