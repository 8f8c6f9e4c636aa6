/** A worker thread whose messages may break it: the entry that the thread tests give to `startThreads`. */
import { parentPort } from 'node:worker_threads'
import { serveThread } from '../../src/actors/thread.ts'
import type { ActorDefinition } from '../../src/actors/types.ts'
import { createContainer } from '../../src/container.ts'
import { QUICK, sessions } from './actors.ts'

if (parentPort === null) throw new Error('this file is the entry of a thread')

serveThread(parentPort, ({ config, servers, index }) => {
  const container = createContainer(config, servers, `test-thread-${index}`)
  const actor = sessions(
    {
      async tick(message, tx) {
        await tx`insert into applied (key, seq) values (${message.key}, ${message.seq})`
        return 'done'
      },
      /** An error outside of any promise that the runtime knows. */
      async explode(message, tx) {
        const { key, seq, attempts } = message
        await tx`insert into applied (key, seq, attempts) values (${key}, ${seq}, ${attempts})`
        if (attempts > 0) return 'done'
        setTimeout(() => {
          throw new Error('nobody handles this')
        })
        await tx`select pg_sleep(60)`
        return 'done'
      },
      async reject(message, tx) {
        if (message.attempts > 0) return 'done'
        void Promise.reject(new Error('nobody handles this either'))
        await tx`select pg_sleep(60)`
        return 'done'
      },
      /** Never gives the event loop back. */
      async spin(message) {
        if (message.attempts > 0) return 'done'
        for (;;);
      },
      /** Hangs its thread so often, each time after an answer of the database. */
      async 'spin thrice'(message, tx) {
        await tx`select pg_sleep(0.2)`
        if (message.attempts >= 3) return 'done'
        for (;;);
      },
      /** In hand for a while. */
      async wait(message, tx) {
        await tx`select pg_sleep(3)`
        await tx`
          insert into applied (key, seq, attempts) values (${message.key}, ${message.seq}, ${message.attempts})`
        return 'done'
      },
    },
    { maxAttempts: 10 },
  )
  const long: ActorDefinition = {
    kind: 'analysis',
    pool: 'long',
    maxAttempts: 10,
    handlers: {
      async wait(turn) {
        const { key, seq, attempts } = turn.message
        await Bun.sleep(3_000)
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
      /** An error outside of any promise that the runtime knows, while nothing is marked. */
      async explode(turn) {
        const { key, seq, attempts } = turn.message
        if (attempts > 0)
          return turn.finish(async (tx) => {
            await tx`insert into applied (key, seq, attempts) values (${key}, ${seq}, ${attempts})`
          })
        setTimeout(() => {
          throw new Error('nobody handles this')
        }, 300)
        await Bun.sleep(60_000)
      },
    },
  }
  // A lease that does not run out during a test: what is taken over was reported by the main thread.
  return { container, actors: [actor, long], maintenance: [], options: { ...QUICK, leaseMs: 3_600_000 } }
})
