/** Metering: each visible final assistant response costs one unit, once, while the credits last. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createIdentity } from '../../src/access/identity/service.ts'
import { loadConfig } from '../../src/app/config.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { wakeBlockedSessions } from '../../src/hear/agents/sessions/credits.ts'
import { deleteSessions } from '../../src/hear/agents/sessions/deletion.store.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import {
  assistant,
  createApplication,
  createSession,
  creditsOf,
  feedback,
  ledger,
  responseStates,
  runSession,
  sessionRow,
  signalRows,
  storeEvents,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
const actor = sessionActor({ newId })

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const run = (id: string, type?: string) => runSession(database.sql, actor, id, type)

test('a visible finalised response costs one unit; retries and revisions cost none', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 10 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1), assistant(2)])
  await run(id)
  await run(id)
  expect(await creditsOf(sql, application)).toBe(8)
  await storeEvents(sql, id, [{ ...assistant(1, 'Better.'), revision: 2 }])
  await run(id)
  expect(await ledger(sql, id)).toEqual(['a1', 'a2'])
  expect(await creditsOf(sql, application)).toBe(8)
})

test('partial and invisible responses cost nothing until they are final and visible', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 10 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [
    user(0),
    { ...assistant(1), final: false },
    { ...assistant(2), body: { content: [{ type: 'tool_use' }] } },
    { id: 'n3', sequence: 3, type: 'note', body: { content: 'x' } },
  ])
  await run(id)
  expect(await ledger(sql, id)).toEqual([])
  expect(await creditsOf(sql, application)).toBe(10)
  await storeEvents(sql, id, [{ ...assistant(1), revision: 2 }])
  await run(id)
  expect(await ledger(sql, id)).toEqual(['a1'])
})

test('a response that a revision makes invisible is withdrawn, and shown again costs no second unit', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 10 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1)])
  await run(id)
  await storeEvents(sql, id, [{ ...assistant(1), revision: 2, body: { content: '' } }])
  await run(id)
  expect(await responseStates(sql, id)).toEqual([])
  await storeEvents(sql, id, [{ ...assistant(1), revision: 3 }])
  await run(id)
  expect(await responseStates(sql, id)).toEqual(['a1 metered'])
  expect(await creditsOf(sql, application)).toBe(9)
})

test('credits that run out block the later responses, and explicit feedback is processed regardless', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 2 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [
    ...[5, 3, 1, 4, 2].map((sequence) => assistant(sequence)),
    user(0),
    feedback(6, 'a5'),
  ])
  const { newMessages } = await run(id)
  expect(await responseStates(sql, id)).toEqual([
    'a1 metered',
    'a2 metered',
    'a3 billing_blocked',
    'a4 billing_blocked',
    'a5 billing_blocked',
  ])
  expect(newMessages.map(({ key }) => key.split(':')[0])).toEqual(['analysis', 'passage'])
  expect(await creditsOf(sql, application)).toBe(0)
  expect((await sessionRow(sql, id)).processingStatus).toBe('billing_blocked')
  expect(await signalRows(sql, id)).toHaveLength(1)
})

test('new credits meter all waiting responses in order of sequence', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 0 })
  const { organizationId } = application
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1), assistant(2), assistant(3)])
  await run(id)
  await sql`update organization set response_credits = 2 where id = ${organizationId}`
  await run(id, 'credits_added')
  expect(await ledger(sql, id)).toEqual(['a1', 'a2'])
  expect((await sessionRow(sql, id)).processingStatus).toBe('billing_blocked')
  // A newer response follows the waiting ones.
  await storeEvents(sql, id, [assistant(4)])
  await sql`update organization set response_credits = 1 where id = ${organizationId}`
  await run(id)
  expect(await ledger(sql, id)).toEqual(['a1', 'a2', 'a3'])
  await sql`update organization set response_credits = null where id = ${organizationId}`
  await run(id, 'credits_added')
  expect(await ledger(sql, id)).toEqual(['a1', 'a2', 'a3', 'a4'])
  expect((await sessionRow(sql, id)).processingStatus).toBe('processing')
  expect(await creditsOf(sql, application)).toBeNull()
})

test('a revision of a metered response is free after the credits have run out', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 1 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1)])
  await run(id)
  await storeEvents(sql, id, [{ ...assistant(1, 'Better.'), revision: 2 }])
  await run(id)
  expect(await responseStates(sql, id)).toEqual(['a1 metered'])
})

test('concurrent turns of sessions never spend more credits than there are', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 13 })
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const id = await createSession(sql, application)
      await storeEvents(sql, id, [user(0), assistant(1), assistant(2), assistant(3)])
      return id
    }),
  )
  await Promise.all(ids.map((id) => run(id)))
  const units = await Promise.all(ids.map((id) => ledger(sql, id)))
  expect(units.flat()).toHaveLength(13)
  expect(await creditsOf(sql, application)).toBe(0)
})

test('spending credits does not wait for a transaction that inserts a row of the organization', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 5 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1)])
  await transaction(sql, async (tx) => {
    // The lock that a foreign key takes.
    await tx`select 1 from organization where id = ${application.organizationId} for key share`
    await run(id)
  })
  expect(await creditsOf(sql, application)).toBe(4)
})

test('adding credits while a blocked session is deleted leaves no actor of the session', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 0 })
  const { organizationId } = application
  const id = await createSession(sql, application)
  const other = await createSession(sql, application)
  for (const session of [id, other]) {
    await storeEvents(sql, session, [user(0), assistant(1)])
    await run(session)
  }
  const notifier = { name: 'postgres', notify: () => {}, close: async () => {} } as const
  const log = createLog('silent', 'test')
  const identity = createIdentity({
    wakeBlocked: wakeBlockedSessions,
    sql,
    listening: sql,
    notifier,
    config: loadConfig({}),
    clock: systemClock,
    newId,
    log,
  })
  await transaction(sql, async (tx) => {
    await deleteSessions(tx, organizationId, [id])
    await identity.addCredits(organizationId, 1)
  })
  const actors = await sql<{ key: string }[]>`
    select key from actor_mailbox where key in (${`session:${id}`}, ${`session:${other}`})`
  expect(actors.map(({ key }) => key)).toEqual([`session:${other}`])
})

test('without content capture there is no metering and no analysis, but feedback', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 5, settings: { captureContent: false } })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1), feedback(2, 'a1')])
  const { newMessages } = await run(id)
  expect(newMessages).toEqual([])
  expect(await ledger(sql, id)).toEqual([])
  expect(await creditsOf(sql, application)).toBe(5)
  expect((await sessionRow(sql, id)).processingStatus).toBe('capture_disabled')
  expect(await signalRows(sql, id)).toHaveLength(1)
})

test('units are counted even with unlimited credits', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1)])
  await run(id)
  await run(id)
  expect(await ledger(sql, id)).toEqual(['a1'])
  expect((await sessionRow(sql, id)).processingStatus).toBe('processing')
})
