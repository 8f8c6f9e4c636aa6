/** Organizations take turns: the backlog of one does not hold up another, in any pool and with either notifier. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import {
  type ActorDefinition,
  type ActorKey,
  type LongHandler,
  NO_ORGANIZATION,
} from '../../src/actors/types.ts'
import { sessions, startWorker, type TestDeps, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const keyOf = (kind: string): ActorKey => `${kind}:${crypto.randomUUID()}`

describe.each(['redis', 'postgres'] as const)('with the notifier on %s', (notifier) => {
  let database: TestDatabase
  let sender: TestDeps
  const workers: TestWorker[] = []
  const [quiet, noisy] = [crypto.randomUUID(), crypto.randomUUID()]

  const deps = () => testDeps(database.url, notifier === 'redis' ? testServer('TEST_REDIS_URL') : null)

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.sql`create table applied (id bigserial primary key, key text not null)`
    sender = deps()
  })
  afterAll(async () => {
    await sender.close()
    await database.drop()
  })
  beforeEach(async () => {
    await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
  })
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close()))
  })

  async function startTwo(definitions: readonly ActorDefinition[]) {
    for (let index = 0; index < 2; index++) workers.push(await startWorker(deps(), definitions))
  }

  async function post(organizationId: string | null, keys: readonly ActorKey[]) {
    for (let first = 0; first < keys.length; first += 1_000) {
      const some = keys.slice(first, first + 1_000)
      sender.notifier.notify(
        await send(
          sender.sql,
          some.map((key) => ({ key, type: 'work', organizationId })),
        ),
      )
    }
  }

  const applied = async () =>
    (await database.sql<{ key: ActorKey }[]>`select key from applied order by id`).map(({ key }) => key)
  const empty = () =>
    eventually(async () => (await database.sql`select from actor_message limit 1`).length === 0)
  const many = (count: number, kind: string) => Array.from({ length: count }, () => keyOf(kind))

  /** Long turns that end a while after their order to end; each is recorded when it begins. */
  function hanging(proceed: Promise<void>): readonly ActorDefinition[] {
    const work: LongHandler = async (turn) => {
      await turn.step(async (tx) => void (await tx`insert into applied (key) values (${turn.message.key})`))
      const aborted = Promise.withResolvers<void>()
      turn.signal.addEventListener('abort', () => aborted.resolve())
      await Promise.race([proceed, aborted.promise])
      await Bun.sleep(50)
      await turn.finish(async () => {})
    }
    return [
      { kind: 'analysis', pool: 'analysis', maxAttempts: 3, handlers: { work } },
      { kind: 'recording', pool: 'media', maxAttempts: 3, handlers: { work } },
    ]
  }

  test.each(['analysis', 'recording'] as const)(
    'long turns that fill all places leave one for another organization: %s',
    async (kind) => {
      const proceed = Promise.withResolvers<void>()
      await startTwo(hanging(proceed.promise))
      await post(noisy, many(100, kind))
      await eventually(async () => (await applied()).length === 4) // a lone organization gets every place
      const key = keyOf(kind)
      await post(quiet, [key])
      await eventually(async () => (await applied()).includes(key))
      expect(await applied()).toHaveLength(5)
      proceed.resolve()
    },
  )

  test('both organizations get places as they become free', async () => {
    const proceed = Promise.withResolvers<void>()
    await startTwo(hanging(proceed.promise))
    await post(noisy, many(300, 'recording'))
    await eventually(async () => (await applied()).length === 4)
    const mine = many(10, 'recording')
    await post(quiet, mine)
    await eventually(async () => (await applied()).length === 6)
    proceed.resolve()
    await empty()
    const order = await applied()
    expect(Math.max(...mine.map((key) => order.indexOf(key)))).toBeLessThan(200)
  })

  test('thousands of short turns do not hold up those of another organization', async () => {
    await startTwo([
      sessions({
        async work({ key }, tx) {
          await tx`insert into applied (key) select ${key} from pg_sleep(0.002)`
          return 'done'
        },
      }),
    ])
    await post(noisy, many(6_000, 'session'))
    const mine = many(3, 'session')
    await post(quiet, mine)
    await eventually(async () => (await applied()).filter((key) => mine.includes(key)).length === mine.length)
    // Their places in the order, because this process may look only when the backlog is done, too.
    const order = await applied()
    expect(Math.max(...mine.map((key) => order.indexOf(key)))).toBeLessThan(4_500)
  })

  test('messages without an organization share one class, until a message names the organization', async () => {
    const key = keyOf('session')
    // A process of an older version sends like this.
    await database.sql`insert into actor_mailbox (key, last_seq) values (${key}, 1)`
    await database.sql`insert into actor_message (key, seq, type) values (${key}, 1, 'work')`
    const organizations = async () =>
      (
        await database.sql<{ id: string }[]>`select organization_id as id from actor_message order by seq`
      ).map(({ id }) => id)
    expect(await organizations()).toEqual([NO_ORGANIZATION])
    const [wakeUp] = await send(database.sql, [{ key, type: 'work', organizationId: quiet }])
    expect(wakeUp).toMatchObject({ key, seq: 2, organization: quiet })
    await send(database.sql, [{ key, type: 'work' }])
    expect(await organizations()).toEqual([NO_ORGANIZATION, quiet, quiet])
    await startTwo([sessions({ work: async () => 'done' })])
    await empty()
  })
})
