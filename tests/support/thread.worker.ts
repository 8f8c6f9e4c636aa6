/** A worker thread that some messages break. The thread tests pass this entry to `startThreads`. */

import { parentPort } from 'node:worker_threads'
import { serveThread } from '../../src/actors/thread.ts'
import type { ActorDefinition } from '../../src/actors/types.ts'
import { createContainer } from '../../src/app/container.ts'
import type { Config } from '../../src/kernel/config.ts'
import { QUICK, sessions } from './actors.ts'

if (parentPort === null) throw new Error('this file is the entry of a thread')

serveThread<Config>(parentPort, ({ config, servers, index }) => {
  const container = createContainer(config, servers, `test-thread-${index}`)
  const actor = sessions(
    {
      async tick(message, tx) {
        await tx`insert into applied (key, seq) values (${message.key}, ${message.seq})`
        return 'done'
      },
      /** Throws outside of any promise that the runtime knows. */
      async explode(message, tx) {
        const { key, seq, attempts } = message
        await tx`insert into applied (key, seq, attempts) values (${key}, ${seq}, ${attempts})`
        if (attempts > 0) return 'done'
        setTimeout(() => {
          throw new Error('no code handles this')
        })
        await tx`select pg_sleep(60)`
        return 'done'
      },
      async reject(message, tx) {
        if (message.attempts > 0) return 'done'
        void Promise.reject(new Error('no code handles this either'))
        await tx`select pg_sleep(60)`
        return 'done'
      },
      /** Blocks the event loop forever. */
      async spin(message) {
        if (message.attempts > 0) return 'done'
        for (;;);
      },
      /** Hangs its thread this many times, each time after an answer of the database. */
      async 'spin thrice'(message, tx) {
        await tx`select pg_sleep(0.2)`
        if (message.attempts >= 3) return 'done'
        for (;;);
      },
      /** Stays in hand for a while. */
      async wait(message, tx) {
        await tx`select pg_sleep(1)`
        await tx`
          insert into applied (key, seq, attempts) values (${message.key}, ${message.seq}, ${message.attempts})`
        return 'done'
      },
    },
    { maxAttempts: 10 },
  )
  const long: ActorDefinition = {
    kind: 'analysis',
    pool: 'analysis',
    maxAttempts: 10,
    handlers: {
      async wait(turn) {
        const { key, seq, attempts } = turn.message
        await Bun.sleep(1_000)
        await turn.finish(async (tx) => {
          await tx`insert into applied (key, seq, attempts) values (${key}, ${seq}, ${attempts})`
        })
      },
      /** Hangs after an answer of the database. */
      async spin(turn) {
        await turn.read(async (tx) => void (await tx`select pg_sleep(0.2)`))
        if (turn.message.attempts === 0) for (;;);
        await turn.finish(async () => {})
      },
      /** Throws outside of any promise that the runtime knows, while no message is marked. */
      async explode(turn) {
        const { key, seq, attempts } = turn.message
        if (attempts > 0)
          return turn.finish(async (tx) => {
            await tx`insert into applied (key, seq, attempts) values (${key}, ${seq}, ${attempts})`
          })
        setTimeout(() => {
          throw new Error('no code handles this')
        }, 300)
        await Bun.sleep(60_000)
      },
    },
  }
  // The lease does not run out during a test, so every takeover follows a report of the main thread.
  return { container, actors: [actor, long], maintenance: [], options: { ...QUICK, leaseMs: 3_600_000 } }
})
