/**
 * A process with an unhandled error: `bun unhandled-process.ts WHEN HOW`. `WHEN` is `starting` or `started`; `HOW` is `exception` or
 * `rejection`. Writes `alive` afterwards, and ends with code 0.
 */
import { createShutdown, surviveErrors } from '../../src/platform/lifecycle/shutdown.ts'
import { createLog } from '../../src/platform/observability/log.ts'

const [, , when, how] = process.argv
const log = createLog('info', 'test')
const started = Promise.withResolvers<void>()
const shutdown = createShutdown(log, started.promise)
surviveErrors(shutdown, log, started.promise)
if (when === 'started') {
  started.resolve()
  await started.promise
}

setTimeout(() => {
  if (how === 'exception') throw new Error('of one request')
  void Promise.reject(new Error('of one request'))
})
setTimeout(() => {
  started.resolve()
  process.stdout.write('alive\n')
  shutdown.end(0)
}, 50)
