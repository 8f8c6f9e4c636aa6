/** A worker thread whose messages may break it: the entry that the thread tests give to `startThreads`. */
import { parentPort } from 'node:worker_threads'
import { serveThread } from '../../src/actors/thread.ts'
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
        if (message.attempts > 0) return 'done'
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
    },
    { maxAttempts: 10 },
  )
  // A lease that does not run out during a test: what is taken over was reported by the main thread.
  return { container, actors: [actor], maintenance: [], options: { ...QUICK, leaseMs: 3_600_000 } }
})
