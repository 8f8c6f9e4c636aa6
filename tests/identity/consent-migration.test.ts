/** An upgrade: who never accepted is no member any more, and who was a member and a former one at once is a member. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** The first one that knows invitations. */
const CONSENT = 90

let database: TestDatabase
let sql: Sql
const ids = { acme: '', other: '', created: '', invited: '', accepted: '', both: '' }

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  sql = database.sql
  await migrate(
    sql,
    MIGRATIONS.filter(({ number }) => number < CONSENT),
  )
  for (const name of Object.keys(ids) as (keyof typeof ids)[]) ids[name] = crypto.randomUUID()
  await sql`insert into organization (id, name) values (${ids.acme}, 'Acme'), (${ids.other}, 'Other')`
  for (const name of ['invited', 'accepted', 'both'] as const)
    await sql`
      insert into app_user (id, email, name, created_at)
      values (${ids[name]}, ${`${name}@example.com`}, ${name}, now() - interval '1 year')`
  await join(ids.invited, 'Whoever')
  await join(ids.accepted, null)
  await join(ids.both, null)
  await sql`insert into former_member (organization_id, user_id, joined_at) values (${ids.acme}, ${ids.both}, now())`
  ids.created = await create()
  await migrate(sql, MIGRATIONS)
})
afterAll(() => database?.drop())

/** As a process of the version before adds somebody who has an account. */
const join = (userId: string, invitedName: string | null, organizationId = ids.acme) => sql`
  insert into membership (organization_id, user_id, role, invited_name)
  values (${organizationId}, ${userId}, 'analyst', ${invitedName})
  on conflict do nothing
  returning user_id`

/** As a process of the version before adds somebody new: user and membership in one transaction. */
const create = (userId: string = crypto.randomUUID()) =>
  sql.begin(async (tx) => {
    await tx`insert into app_user (id, email, name) values (${userId}, ${`${userId}@example.com`}, 'New')`
    await tx`
      insert into membership (organization_id, user_id, role, invited_name)
      values (${ids.acme}, ${userId}, 'analyst', 'New')`
    return userId
  })

const members = async () =>
  (await sql<{ id: string }[]>`select user_id as id from membership where organization_id = ${ids.acme}`).map(
    ({ id }) => id,
  )

test('who was invited by an address with an account is asked; who was created or has acted is a member', async () => {
  expect((await members()).toSorted()).toEqual([ids.created, ids.accepted, ids.both].toSorted())
  expect(await sql`select user_id, role, name from invitation`).toMatchObject([
    { user_id: ids.invited, role: 'analyst', name: 'Whoever' },
  ])
})

test('who was listed as a member and as a former one is a member, and older tokens stay invalid', async () => {
  expect((await sql`select 1 from former_member`).length).toBe(0)
  const rows = await sql<{ since: Date | null }[]>`
    select tokens_not_before as since from membership where user_id = ${ids.both}`
  expect(rows[0]?.since).toBeInstanceOf(Date)
})

test('a process of the version before makes nobody a member who was not asked', async () => {
  expect((await join(ids.accepted, 'Whoever', ids.other)).length).toBe(0)
  expect((await sql`select 1 from membership where organization_id = ${ids.other}`).length).toBe(0)
  expect((await sql`select 1 from invitation where organization_id = ${ids.other}`).length).toBe(1)
  const created = await create()
  expect(await members()).toContain(created)
})
