/**
 * The entry of a worker thread: a container of its own and the actors of all features. Its path is known to
 * `src/actors/threads.ts` and to the build, which embeds it.
 */
import { parentPort } from 'node:worker_threads'
import { connectionsNeeded, DEFAULT_OPTIONS } from '../src/actors/options.ts'
import { serveThread } from '../src/actors/thread.ts'
import { createRemoteTextWork } from '../src/analysis/analyze/text-port.ts'
import { createContainer } from '../src/app/container.ts'
import { createFeatures } from '../src/app/features.ts'
import type { Config } from '../src/kernel/config.ts'

if (parentPort === null) throw new Error('this file is the entry of a thread')

serveThread<Config>(parentPort, ({ config, servers, index, port }) => {
  const databasePoolSize = Math.min(config.databasePoolSize, connectionsNeeded(DEFAULT_OPTIONS))
  const name = `earshot-thread-${index}`
  const textWork = port === null ? undefined : createRemoteTextWork(port)
  const own = { ...config, databasePoolSize }
  const container = createContainer(own, servers, name, { redoable: true, textWork })
  void container.clock.follow()
  const { actors, maintenance, warmUp } = createFeatures(container)
  return {
    container,
    actors,
    maintenance,
    ...(config.warmUp ? { warmUp: warmUp.turns } : {}),
    options: {
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      mediaSlots: config.capacity.mediaSlots,
    },
  }
})
