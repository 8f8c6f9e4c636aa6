/** Runs one worker thread of the thread tests in a separate process. Argument: the URL of the database. */
import { startThreads } from '../../src/actors/threads.ts'
import { loadConfig } from '../../src/app/config.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'

const url = process.argv[2]!
const entry = new URL('thread.worker.ts', import.meta.url).href
const deps = {
  config: { ...loadConfig({ LOG_LEVEL: 'silent' }), workerThreads: 1 },
  servers: { database: { url }, redis: null },
  sql: connect({ url }, { max: 2, applicationName: 'test-threads' }),
  log: createLog('silent', 'test'),
}
await startThreads(deps, { entry, respawnMs: 20 })
