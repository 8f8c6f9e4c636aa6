/** A worker without room sends wake-ups for the due messages that it finds, but not for long turns that wait in a queue. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Context } from '../../src/actors/context.ts'
import type { Dispatcher } from '../../src/actors/dispatcher.ts'
import { send } from '../../src/actors/mailbox.ts'
import { DEFAULT_OPTIONS } from '../../src/actors/options.ts'
import { sweepOnce } from '../../src/actors/sweeper.ts'
import type { ActorKey, WakeUp } from '../../src/actors/types.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** One sweep of a worker with this much room in each pool. */
async function sweepWith(free: number): Promise<{ readonly notified: string[]; readonly taken: string[] }> {
  const notified: string[] = []
  const taken: string[] = []
  const context = {
    sql: database.sql,
    worker: 'one',
    options: DEFAULT_OPTIONS,
    definitions: new Map([
      ['session', { kind: 'session', pool: 'short' }],
      ['analysis', { kind: 'analysis', pool: 'analysis' }],
    ]),
    notifier: { notify: (wakeUps: readonly WakeUp[]) => notified.push(...wakeUps.map(({ key }) => key)) },
  }
  const dispatcher = {
    known: () => [],
    free: () => free - taken.length,
    offer: ({ key }: { key: string }) => taken.push(key),
  }
  await sweepOnce(context as unknown as Context, dispatcher as unknown as Dispatcher)
  return { notified: notified.sort(), taken: taken.sort() }
}

test('a long turn that waits in a queue gets no second wake-up, unless it waits too long', async () => {
  const keys: ActorKey[] = ['session:a', 'session:b', 'analysis:a', 'analysis:b']
  await send(
    database.sql,
    keys.map((key) => ({ key, type: 'message' })),
  )
  await database.sql`
    update actor_message set available_at = now() - interval '1 minute' where key like '%:b'`
  expect(await sweepWith(0)).toEqual({ notified: ['analysis:b', 'session:a', 'session:b'], taken: [] })
  expect(await sweepWith(4)).toEqual({ notified: [], taken: keys.toSorted() })
})
