/**
 * An HTTP application whose requests to `/gate` are refused together, when `POST /open` comes, before their bodies have arrived.
 * Writes its address.
 */
import { ERRORS } from '../../../src/app/error-catalogue.ts'
import { createHttpApp } from '../../../src/http/http-app.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'

const opened = Promise.withResolvers<void>()
const app = createHttpApp({
  log: createLog('error', 'gate'),
  metrics: createMetrics(),
  newId: () => crypto.randomUUID(),
  clock: systemClock,
  errors: ERRORS,
})
  .get('/health', () => 'ok')
  .post('/open', () => {
    opened.resolve()
    return 'ok'
  })
  .post(
    '/gate',
    async () => {
      await opened.promise
      throw new AppError('role_required', 'Refused.')
    },
    { parse: 'none' },
  )
  .listen({ hostname: '127.0.0.1', port: 0 })
process.stdout.write(`Address http://127.0.0.1:${app.server?.port}\n`)
process.on('SIGTERM', () => process.exit(0))
