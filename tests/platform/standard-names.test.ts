/** Migration 27 renames tables that older processes still use: their statements keep working next to the new ones. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.sql`truncate actor_mailbox, agent_late_event cascade`
})
afterAll(() => database.drop())

const KEY = 'session:00000000-0000-7000-8000-000000000001'
const ORGANIZATION = '00000000-0000-7000-8000-00000000000a'

/** How the older version numbers and stores a message. */
const oldSend = () => database.sql<{ seq: number }[]>`
  with letter as (
    select ${KEY}::text as key, 'events_stored'::text as type, '{}'::text as payload, ${ORGANIZATION}::uuid as organization
  ), numbered as (
    insert into actor (key, mail, organization_id) select key, 1, organization from letter order by key
    on conflict (key) do update
      set mail = actor.mail + 1, organization_id = greatest(actor.organization_id, excluded.organization_id)
    returning key, mail, organization_id
  )
  insert into actor_message (key, seq, type, payload, organization_id)
  select n.key, n.mail, l.type, l.payload::jsonb, n.organization_id
  from numbered n join letter l using (key)
  returning seq`

const newSend = () => database.sql<{ seq: number }[]>`
  with numbered as (
    insert into actor_mailbox (key, last_seq, organization_id) values (${KEY}, 1, ${ORGANIZATION})
    on conflict (key) do update set last_seq = actor_mailbox.last_seq + 1
    returning key, last_seq, organization_id
  )
  insert into actor_message (key, seq, type, organization_id)
  select key, last_seq, 'events_stored', organization_id from numbered
  returning seq`

test('old and new senders number the messages of one actor without a gap', async () => {
  const sends = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? oldSend() : newSend())))
  const numbers = sends.map(([row]) => row?.seq ?? 0)
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
})

test('a new worker cannot claim the actor of an old worker, and the epoch fences it', async () => {
  const { sql } = database
  await newSend()
  const claimed = await sql`
    with free as (
      select key from actor where key = ${KEY} and owner is null order by key for update skip locked
    )
    update actor a set owner = 'old', epoch = a.epoch + 1 from free where a.key = free.key
    returning a.key, a.epoch`
  expect(claimed).toMatchObject([{ key: KEY, epoch: 1 }])
  expect(await sql`select 1 from actor_mailbox where key = ${KEY} and owner is null`).toHaveLength(0)
  await sql.begin(async (tx) => {
    expect(await tx`select epoch from actor where key = ${KEY} and owner = 'old' for share`).toHaveLength(1)
    const others = await sql`select key from actor_mailbox where key = ${KEY} for update skip locked`
    expect(others).toHaveLength(0)
  })
  // A message that arrives after the read prevents an old worker from releasing the actor.
  const release = (mail: number) => sql`
    update actor a set owner = null where a.key = ${KEY} and a.epoch = 1 and a.mail = ${mail} returning a.key`
  await newSend()
  expect(await release(1)).toHaveLength(0)
  expect(await release(2)).toHaveLength(1)
})

test('old code creates and deletes actors with their messages', async () => {
  const { sql } = database
  await sql`insert into actor (key) values (${KEY})`
  expect(await sql`select last_seq, epoch, owner from actor_mailbox`).toMatchObject([
    { last_seq: 0, epoch: 0, owner: null },
  ])
  await oldSend()
  await sql`
    with locked as materialized (select key from actor where key = ${KEY} order by key for update)
    delete from actor where key in (select key from locked)`
  expect(await sql`select 1 from actor_message`).toHaveLength(0)
})

test('new code finds a late event stored by old code, once', async () => {
  const { sql } = database
  const session = '00000000-0000-7000-8000-0000000000aa'
  for (const _ of [1, 2])
    await sql`
      insert into agent_revisit (organization_id, session_id, external_event_id)
      values (${ORGANIZATION}, ${session}, 'm1')
      on conflict do nothing`
  expect(await sql`select external_event_id from agent_late_event`).toMatchObject([
    { external_event_id: 'm1' },
  ])
  await sql`delete from agent_revisit r where r.session_id = ${session} and r.organization_id = ${ORGANIZATION}`
  expect(await sql`select 1 from agent_late_event`).toHaveLength(0)
})
