/**
 * A Redis that is a cluster with one node, as some hosting services provide. Notifiers of all pools work, also when
 * several notify at the same moment.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createRedisNotifier, streamName } from '../../src/actors/notifier-redis.ts'
import { POOLS } from '../../src/actors/types.ts'
import { ACTOR_KINDS } from '../../src/kernel/messages/all.ts'
import { type TestDeps, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'

let database: TestDatabase
let redis: PrivateRedis
let deps: TestDeps

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  redis = await startPrivateRedis(0, ['--cluster-enabled', 'yes'])
  await redis.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  await eventually(async () => String(await redis.command('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  deps = testDeps(database.url, redis.url)
  await eventually(() => deps.redis?.ping())
})
afterAll(async () => {
  await deps.close()
  await redis.stop()
  await database.drop()
})

test('each notifier is on the stream of its pool', async () => {
  const notifier = createRedisNotifier({ ...deps, redis: deps.redis!, kinds: ACTOR_KINDS })
  notifier.notify([
    { key: 'session:1', seq: 1, type: 'tick' },
    { key: 'form:1', seq: 1, type: 'tick' },
    { key: 'recording:1', seq: 1, type: 'tick' },
    { key: 'analysis:1', seq: 1, type: 'tick' },
    { key: 'webhook:1', seq: 1, type: 'tick' },
    { key: 'session:2', seq: 1, type: 'tick' },
  ])
  await notifier.close()
  const lengths = await Promise.all(
    POOLS.map(async (pool) => [pool, await redis.command('XLEN', streamName(database.sql, pool))] as const),
  )
  expect(lengths.filter(([, length]) => length !== 1)).toEqual([
    ['short', 2],
    ['background', 0],
  ])
})
