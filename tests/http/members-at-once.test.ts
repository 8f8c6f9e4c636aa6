/**
 * Changes of one person's membership at the same moment end as if one came after the other: nobody is a member and a former member at once,
 * every removal works, and no statement runs into a deadlock.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rounds } from '../support/rounds.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const MEMBERS = '/v3/rest/members'
const TOKENS = '/v3/rest/user-tokens'

let server: TestServer
let second: TestServer
let tenant: TestTenant
let clients: readonly Client[]

beforeAll(async () => {
  const env = { SECRET_KEY: 'x'.repeat(43) }
  server = await startTestServer({ env })
  second = await startTestServer({ env, beside: server })
  tenant = await server.createTenant()
  clients = [server, second].map((at) => at.as({ apiKey: tenant.apiKey }))
})
afterAll(async () => {
  await second?.stop()
  await server?.stop()
})

const ROUNDS = rounds(25, 200)

/** `transaction` repeats what ended in a deadlock, so the answers alone do not show one. */
const deadlocks = async () => {
  // Each connection reports what it counted when it is asked to, or seconds later.
  for (const { deps } of [server, second])
    await Promise.all(
      Array.from({ length: 12 }, () => deps.sql`select pg_stat_force_next_flush(), pg_sleep(0.02)`),
    )
  const [row] = await server.database.sql<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`
  return row?.deadlocks
}

async function statesOf(userId: string) {
  const [row] = await server.database.sql<{ member: boolean; former: boolean; since: boolean }[]>`
    select exists (select 1 from membership where user_id = ${userId} and organization_id = ${tenant.organizationId}) as member,
      exists (select 1 from former_member where user_id = ${userId} and organization_id = ${tenant.organizationId}) as former,
      coalesce((
        select tokens_not_before is not null from membership
        where user_id = ${userId} and organization_id = ${tenant.organizationId}
      ), true) as since`
  return row
}

/** Sends both at once, one to each process, a little apart in half of the rounds. */
async function atOnce(
  round: number,
  one: (client: Client) => Promise<{ readonly status: number }>,
  another: (client: Client) => Promise<{ readonly status: number }>,
): Promise<readonly number[]> {
  const [first, other] = (round % 2 === 0 ? clients : clients.toReversed()) as [Client, Client]
  const later = async () => {
    await Bun.sleep((round % 7) / 2)
    return another(other)
  }
  const answers = await Promise.all([one(first), later()])
  return answers.map(({ status }) => status)
}

test('adding and removing a member leaves a member or a former one, who can be removed', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const email = `${crypto.randomUUID()}@example.com`
    const { id } = (await (clients[0] as Client).post(MEMBERS, { email })).body
    const statuses = await atOnce(
      round,
      (client) => client.delete(`${MEMBERS}/${id}`),
      (client) => client.post(MEMBERS, { email }),
    )
    expect(statuses[0]).toBe(200)
    expect([201, 409]).toContain(statuses[1] as number)
    const states = await statesOf(id)
    expect([round, states?.member !== states?.former, states?.since]).toEqual([round, true, true])
    expect((await (clients[1] as Client).delete(`${MEMBERS}/${id}`)).status).toBe(200)
    expect(await statesOf(id)).toMatchObject({ member: false, former: true })
  }
})

test('accepting and withdrawing an invitation leaves no invitation, and one outcome', async () => {
  const { identity } = server.features
  for (let round = 0; round < ROUNDS; round++) {
    const other = await server.createTenant()
    const email = (await identity.findUserAnywhere(other.userId))?.email
    await (clients[0] as Client).post(MEMBERS, { email })
    const user = [server, second].map((at) => at.as({ userToken: other.userToken }))
    const path = `/v3/rest/session/invitations/${tenant.organizationId}`
    const [removed, accepted] = await atOnce(
      round,
      (client) => client.delete(`${MEMBERS}/${other.userId}`),
      () => (user[round % 2] as Client).send('PUT', path),
    )
    expect([200, 204, 404]).toContain(accepted as number)
    expect(removed).toBe(200)
    expect((await statesOf(other.userId))?.member).toBe(false)
    const left = await server.database.sql`select 1 from invitation where user_id = ${other.userId}`
    expect(left.length).toBe(0)
  }
})

test('removing a member beside revoking and issuing their tokens meets no deadlock', async () => {
  const before = await deadlocks()
  for (let round = 0; round < ROUNDS; round++) {
    const { userId } = await server.createUser(tenant.organizationId, 'administrator')
    for (let token = 0; token < 3; token++) await (clients[0] as Client).post(TOKENS, { userId })
    const all = await Promise.all([
      atOnce(
        round,
        (client) => client.delete(`${MEMBERS}/${userId}`),
        (client) => client.delete(`${MEMBERS}/${userId}/user-tokens`),
      ),
      atOnce(
        round + 1,
        (client) => client.post(TOKENS, { userId }),
        (client) => client.patch(`${MEMBERS}/${userId}`, { role: 'viewer' }),
      ),
      server.features.identity.revokeUserTokensOf(userId).then(() => [200]),
    ])
    expect(all.flat().filter((status) => ![200, 201, 204, 404].includes(status))).toEqual([])
    const alive = await server.database.sql`
      select 1 from user_token
      where user_id = ${userId} and organization_id is not null and revoked_at is null`
    expect([round, alive.length]).toEqual([round, 0])
  }
  expect(await deadlocks()).toBe(before as number)
})

test('two members who are removed in favour of each other: one stays, and no deadlock', async () => {
  const before = await deadlocks()
  for (let round = 0; round < ROUNDS; round++) {
    const [one, other] = await Promise.all([
      server.createUser(tenant.organizationId, 'analyst'),
      server.createUser(tenant.organizationId, 'analyst'),
    ])
    const statuses = await atOnce(
      round,
      (client) => client.delete(`${MEMBERS}/${one.userId}?transferTo=${other.userId}`),
      (client) => client.delete(`${MEMBERS}/${other.userId}?transferTo=${one.userId}`),
    )
    expect(statuses.toSorted()).toEqual([200, 400])
  }
  expect(await deadlocks()).toBe(before as number)
})
