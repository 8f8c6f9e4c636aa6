/** Our actors as a peer: the runtime of one worker thread with its own options and empty handlers. */

import { send, transactionWithOutbox } from '../../src/actors/mailbox.ts'
import { createNotifier } from '../../src/actors/notifier.ts'
import { createRuntime } from '../../src/actors/runtime.ts'
import type { ActorDefinition, ActorKey, Message, ShortHandler } from '../../src/actors/types.ts'
import { ACTOR_KINDS } from '../../src/kernel/messages/all.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/platform/observability/metrics.ts'
import { openRedis } from '../../src/platform/redis.ts'
import type { Drained, Peer } from './peer.ts'

const BULK = 1_000
const POLL_MS = 2
const APPLIED = 'bench_applied'

export interface EarshotOptions {
  readonly name: string
  readonly about: string
  readonly databaseUrl: string
  /** null: notifies by LISTEN and NOTIFY. */
  readonly redisUrl: string | null
  /** Like the worker threads of the service: a turn lost in a database crash is repeated. */
  readonly redoable: boolean
}

const keyOf = (key: number): ActorKey => `session:${key}`

/** The rate of `drain` counts messages removed from the table, not handler calls. */
export async function createEarshot(options: EarshotOptions): Promise<Peer> {
  const { databaseUrl, redisUrl, redoable } = options
  const log = createLog('warn', 'bench')
  const metrics = createMetrics()
  const database = { url: databaseUrl }
  const sql = connect(database, { max: 20, applicationName: 'bench', redoable })
  // Senders wait for the disk.
  const sender = connect(database, { max: 16, applicationName: 'bench' })
  const redis = redisUrl === null ? null : openRedis(redisUrl, log)
  if (redis?.status === 'connecting') await new Promise((ready) => redis.once('ready', ready))
  const notifier = createNotifier({ sql, redis, log, metrics, kinds: ACTOR_KINDS })
  const deps = { sql, redis, log, metrics, notifier, servers: { database, redis: redisUrl } }

  const startRuntime = async (message: ShortHandler) => {
    const definition: ActorDefinition = {
      kind: 'session',
      pool: 'short',
      maxAttempts: 5,
      handlers: { message },
    }
    const runtime = createRuntime(deps, [definition])
    await runtime.start()
    return runtime
  }
  return {
    name: options.name,
    about: options.about,
    async fill(keys, perKey) {
      for (let round = 0; round < perKey; round++) {
        for (let first = 0; first < keys; first += BULK) {
          const amount = Math.min(BULK, keys - first)
          const newMessages = Array.from({ length: amount }, (_, index) => ({
            key: keyOf(first + index),
            type: 'message',
          }))
          notifier.notify(await send(sender, newMessages))
        }
      }
      await notifier.close()
      // The server does this itself within a minute.
      await sender`analyze actor, actor_message`
    },
    async drain(total, limitMs) {
      let started = performance.now()
      let handled = 0
      const runtime = await startRuntime(async () => {
        if (handled++ === 0) started = performance.now()
        return 'done'
      })
      while (handled < total && performance.now() - started < limitMs) await Bun.sleep(POLL_MS)
      const left = await untilCommitted(sender, started + limitMs)
      const drained: Drained = { messages: total - left, ms: performance.now() - started }
      await runtime.stop(5_000)
      return drained
    },
    async clear() {
      await sender`truncate actor_mailbox cascade`
      await redis?.flushall()
    },
    async work(applied) {
      const { unlisten } = await sender.listen(APPLIED, (payload) => applied(Number(payload)))
      const runtime = await startRuntime(async (message: Message, tx) => {
        const { id, told } = message.payload as { id: number; told: boolean }
        // Arrives only after the turn has committed.
        if (told) await tx`select pg_notify(${APPLIED}, ${String(id)})`
        return 'done'
      })
      const deliver = { sql: sender, notifier }
      return {
        send: (key, id, told) =>
          transactionWithOutbox(deliver, (_tx, outbox) =>
            outbox.send([{ key: keyOf(key), type: 'message', payload: { id, told } }]),
          ),
        async stop() {
          await runtime.stop(5_000)
          await unlisten()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await notifier.close()
      redis?.disconnect()
      await Promise.all([sql.end({ timeout: 5 }), sender.end({ timeout: 5 })])
    },
  }
}

/** Waits until no message is left or the deadline passes. @returns the number of messages left */
async function untilCommitted(sql: Sql, deadline: number): Promise<number> {
  for (;;) {
    const late = performance.now() > deadline
    const [row] = late
      ? await sql<{ left: number }[]>`select count(*) as left from actor_message`
      : await sql<{ left: number }[]>`select exists (select from actor_message)::int as left`
    if (row?.left === 0 || late) return row?.left ?? 0
    await Bun.sleep(POLL_MS)
  }
}
