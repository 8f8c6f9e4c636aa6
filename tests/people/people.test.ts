/** People by e-mail address, in the transactions that need them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createPeople, type PersonInput } from '../../src/people/service.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const people = createPeople({ newId })

let database: TestDatabase
let organizationId: string
beforeAll(async () => {
  database = await createTestDatabase()
  organizationId = await createOrganization()
})
afterAll(() => database?.drop())

async function createOrganization(): Promise<string> {
  const id = newId()
  await database.sql`insert into organization (id, name) values (${id}, 'Test')`
  return id
}

const upsert = (input: readonly PersonInput[], organization = organizationId) =>
  transaction(database.sql, (tx) => people.upsertByEmail(tx, organization, input))

async function stored(email: string) {
  const rows = await database.sql`
    select public_id as "publicId", email, first_name as "firstName", last_name as "lastName", boundary,
      updated_at > created_at as changed
    from person
    where organization_id = ${organizationId} and lower(email) = lower(${email})`
  expect(rows).toHaveLength(1)
  return rows[0]
}

test('a new address makes a person, external, under a UUID', async () => {
  const found = await upsert([{ email: 'Ann@Example.com', firstName: 'Ann' }])
  const { id, publicId } = found.get('ann@example.com')!
  expect(id).toBeInteger()
  expect(await stored('ann@example.com')).toEqual({
    publicId,
    email: 'Ann@Example.com',
    firstName: 'Ann',
    lastName: null,
    boundary: 'external',
    changed: false,
  })
})

test('a known address is the same person, whatever its case; absent names never overwrite', async () => {
  const first = await upsert([{ email: 'bob@example.com', firstName: 'Bob', lastName: 'Jones' }])
  const second = await upsert([{ email: 'BOB@example.com', lastName: 'Smith' }])
  expect(second).toEqual(first)
  expect(await stored('bob@example.com')).toMatchObject({
    firstName: 'Bob',
    lastName: 'Smith',
    changed: true,
  })
  await upsert([{ email: 'bob@example.com', firstName: 'Robert' }])
  expect(await stored('bob@example.com')).toMatchObject({ firstName: 'Robert', lastName: 'Smith' })
})

test('an unchanged person keeps its time of change', async () => {
  await upsert([{ email: 'calm@example.com', firstName: 'Cal' }])
  await upsert([{ email: 'calm@example.com', firstName: 'Cal' }])
  await upsert([{ email: 'calm@example.com' }])
  expect(await stored('calm@example.com')).toMatchObject({ firstName: 'Cal', changed: false })
})

test('one address twice in a call is one person with the later names', async () => {
  const found = await upsert([
    { email: 'dan@example.com', firstName: 'Daniel', lastName: 'One' },
    { email: 'other@example.com' },
    { email: 'Dan@example.com', firstName: 'Dan' },
  ])
  expect([...found.keys()].sort()).toEqual(['dan@example.com', 'other@example.com'])
  expect(await stored('dan@example.com')).toMatchObject({ firstName: 'Dan', lastName: 'One' })
})

test.each(['İ@example.com', 'É@example.com', 'Σ@example.com', "o'neil@example.com", 'a"b\\c@example.com'])(
  'the address %s is found under its lower case',
  async (email) => {
    const first = await upsert([{ email }, { email: email.toLowerCase() }])
    expect(first.has(email.toLowerCase())).toBe(true)
    expect(await upsert([{ email }])).toBeInstanceOf(Map)
  },
)

test('an empty look-up finds no person', async () => {
  expect((await upsert([])).size).toBe(0)
})

test('organizations have separate people', async () => {
  const ours = await upsert([{ email: 'shared@example.com' }])
  const theirs = await upsert([{ email: 'shared@example.com' }], await createOrganization())
  expect(theirs.get('shared@example.com')!.id).not.toBe(ours.get('shared@example.com')!.id)
})

test('overlapping sets in different orders at once neither deadlock nor double anybody', async () => {
  const emails = Array.from({ length: 40 }, (_, index) => `crowd${index}@example.com`)
  const shuffled = (turn: number) =>
    emails.map((_, index) => ({ email: emails[(index * 7 + turn) % 40] as string, firstName: `T${turn}` }))
  // Not by `transaction`, which would try a deadlocked one again.
  const found = await Promise.all(
    Array.from({ length: 60 }, (_, turn) =>
      database.sql.begin((tx) =>
        people.upsertByEmail(
          tx as Tx,
          organizationId,
          turn % 2 ? shuffled(turn) : shuffled(turn).toReversed(),
        ),
      ),
    ),
  )
  for (const one of found) expect(one.size).toBe(40)
  expect(new Set(found.flatMap((one) => [...one.values()].map(({ id }) => id))).size).toBe(40)
})

test('people are found by their public ids, in their own organization only', async () => {
  const found = await upsert([{ email: 'eve@example.com' }, { email: 'fay@example.com' }])
  const ids = [...found.values()].map(({ publicId }) => publicId)
  const find = (organization: string, wanted: readonly string[]) =>
    transaction(database.sql, (tx) => people.findByPublicIds(tx, organization, wanted))
  const known = await find(organizationId, [...ids.map((id) => id.toUpperCase()), newId(), 'nonsense'])
  expect([...known.keys()].sort()).toEqual(ids.toSorted())
  expect([...known.values()].map(({ id }) => id).sort()).toEqual(
    [...found.values()].map(({ id }) => id).sort(),
  )
  expect((await find(await createOrganization(), ids)).size).toBe(0)
  expect((await find(organizationId, [])).size).toBe(0)
})

test('ids by address: who is known is not written to, who is new is made, one person for every spelling', async () => {
  const idsOf = (emails: readonly string[]) =>
    transaction(database.sql, (tx) => people.idsByEmail(tx, organizationId, emails))
  await upsert([{ email: 'gus@example.com', firstName: 'Gus' }])
  const ids = await idsOf(['GUS@example.com', 'hal@example.com', 'Hal@Example.com'])
  expect([...ids.keys()].sort()).toEqual(['GUS@example.com', 'Hal@Example.com', 'hal@example.com'])
  expect(ids.get('hal@example.com')).toBe(ids.get('Hal@Example.com') as number)
  expect(await stored('gus@example.com')).toMatchObject({ firstName: 'Gus', changed: false })
  expect(await idsOf(['Gus@Example.com', 'HAL@example.com'])).toEqual(
    new Map([
      ['Gus@Example.com', ids.get('GUS@example.com') as number],
      ['HAL@example.com', ids.get('hal@example.com') as number],
    ]),
  )
  expect((await idsOf([])).size).toBe(0)
})
