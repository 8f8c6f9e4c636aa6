/** Many requests of one organization that lock the same rows do not delay those of another. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { APPEND } from '../support/agents.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { clientOf, credentialHeaders } from '../support/server.ts'
import {
  attackersHeaders,
  expectNeighbourUnharmed,
  type Neighbours,
  useNeighbours,
} from './support/neighbours.ts'

setDefaultTimeout(240_000)

const neighbours = useNeighbours()

const attackersClient = ({ service, attacker }: Neighbours) =>
  clientOf(service.baseUrl, { apiKey: attacker.tenant.apiKey })

test('100 concurrent changes of one recording', async () => {
  const { id } = await createRecording(attackersClient(neighbours()))
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 100,
    requests: (all) =>
      ['One', 'Two', 'Three'].map((displayName) => ({
        method: 'PATCH',
        path: `${RECORDINGS}/${id}`,
        headers: attackersHeaders(all),
        body: JSON.stringify({ displayName }),
      })),
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('300 merges of people', async () => {
  const { attacker, server } = neighbours()
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 100,
    repeats: false,
    async requests(all, window) {
      const people = await server.database.sql<{ id: string }[]>`
        insert into person (public_id, organization_id, email)
        select gen_random_uuid(), ${attacker.organizationId}, 'p' || n || '-' || ${window}::int || '@example.com'
        from generate_series(0, 300) as n
        returning public_id as id`
      const [kept, ...others] = people.map(({ id }) => id)
      return others.map((personId) => ({
        method: 'POST',
        path: `/v3/rest/people/${kept}/merge`,
        headers: attackersHeaders(all),
        body: JSON.stringify({ personId }),
      }))
    },
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('changes of one folder, person, application, webhook, member and conversation', async () => {
  const all = neighbours()
  const client = attackersClient(all)
  const { attacker, server } = all
  const folder = await client.post('/v3/rest/folders', { name: 'Attacked', shared: true })
  const webhook = await client.post('/v3/rest/webhooks', {
    url: 'https://example.com/',
    types: ['upload.ready'],
  })
  const member = await server.createUser(attacker.organizationId)
  const json = { 'content-type': 'application/json' }
  const user = { ...json, ...credentialHeaders({ userToken: attacker.tenant.userToken }) }
  const agent = { ...json, ...credentialHeaders({ agentSecret: attacker.agentSecret }) }
  const key = attackersHeaders(all)
  const event = { type: 'user_message', content: 'How do I export my data?' }
  const statuses = await expectNeighbourUnharmed(all, {
    clients: 100,
    requests: () =>
      [
        {
          method: 'PATCH',
          path: `/v3/rest/folders/${folder.body.id}`,
          headers: key,
          body: { name: 'Renamed' },
        },
        { method: 'PUT', path: '/v3/rest/people', headers: key, body: { email: 'one@example.com' } },
        {
          ...{ method: 'PATCH', path: `/v3/rest/agent-applications/${attacker.applicationId}` },
          ...{ headers: user, body: { name: 'Renamed' } },
        },
        {
          ...{ method: 'PATCH', path: `/v3/rest/webhooks/${webhook.body.id}` },
          ...{ headers: key, body: { description: 'Changed' } },
        },
        {
          ...{ method: 'PATCH', path: `/v3/rest/members/${member.userId}` },
          ...{ headers: user, body: { role: 'analyst' } },
        },
        {
          ...{ method: 'POST', path: APPEND, headers: agent },
          body: { agentKey: attacker.agentKey, externalSessionId: 'attacked', events: [event] },
        },
      ].map(({ body, ...one }) => ({ ...one, body: JSON.stringify(body) })),
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})

test('a change that waits too long for a lock is 503, as are those behind it, and the others go on', async () => {
  const { server, service, recordingId, neighbour } = neighbours()
  const client = clientOf(service.baseUrl, { apiKey: neighbour.tenant.apiKey })
  const other = await createRecording(client)
  const change = (id: string) => client.patch(`${RECORDINGS}/${id}`, { displayName: 'Changed' })
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>()
  const held = server.database.sql.begin(async (tx) => {
    await tx`select 1 from recording where id = ${recordingId} for update`
    hold()
    await isReleased
  })
  await isHeld
  const waiting = Array.from({ length: 12 }, () => change(recordingId))
  expect((await change(other.id)).status).toBe(200)
  for (const { status, body, headers } of await Promise.all(waiting)) {
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'object_busy' })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  release()
  await held
  expect((await change(recordingId)).status).toBe(200)
})
