/**
 * Starts the service on running servers: migrations, demo credentials, HTTP, banner, worker threads.
 *
 * Each part registers for the shutdown before it can do anything. Parts stop in reverse order: requests first, then
 * threads, then connections.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { version } from '../../package.json'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { bootstrapDemo } from '../access/identity/demo.ts'
import { registerQuotaGauge } from '../access/quotas/metrics.ts'
import { linkUrl, START_PATH } from '../access/sign-in/link.rules.ts'
import { registerActorGauges } from '../actors/gauges.ts'
import { startThreads, type Threads } from '../actors/threads.ts'
import { forwardTriggerWakeUps } from '../actors/trigger-wake-ups.ts'
import { analyzerParts } from '../analysis/analyze/examine.ts'
import { serveTextPort } from '../analysis/analyze/text-port.ts'
import { findPrograms, missingPrograms } from '../calls/media/programs.ts'
import { registerMeetingGauge } from '../calls/meetings/metrics.ts'
import { describeTranscription } from '../calls/transcribe/examine.ts'
import { localUrl } from '../http/base-url.ts'
import { createHttpApp } from '../http/http-app.ts'
import type { Config } from '../kernel/config.ts'
import { onceServerIsThere } from '../platform/db/first-contact.ts'
import { migrate } from '../platform/db/migrate.ts'
import { connect, LOCK_TIMEOUT_MS } from '../platform/db/pool.ts'
import { assertRoles } from '../platform/db/pooler.ts'
import { assertServer } from '../platform/db/server-version.ts'
import type { StartedServers } from '../platform/embedded/servers.ts'
import { whyNotListening } from '../platform/lifecycle/own-port.ts'
import type { Shutdown } from '../platform/lifecycle/shutdown.ts'
import { StartError } from '../platform/lifecycle/start-error.ts'
import { mailPart } from '../platform/mail/examine.ts'
import { closeSilentConnections } from '../platform/net/silent-connections.ts'
import { healthRoutes } from '../platform/observability/health.ts'
import type { Log } from '../platform/observability/log.ts'
import { answers } from '../platform/redis.ts'
import { webhooksPart } from '../tell/webhooks/examine.ts'
import { registerWebhookGauges } from '../tell/webhooks/metrics.ts'
import { createApp } from './app.ts'
import { type Container, createContainer } from './container.ts'
import { createFeatures, type Features } from './features.ts'

const BUDGET_MS = { requests: 10_000, threads: 15_000, connections: 6_000 } as const

/** The part of the budget that is reserved for terminating threads. */
const FORCE_MS = 1_000

export interface Run {
  readonly config: Config
  readonly log: Log
  readonly shutdown: Shutdown
}

/**
 * Starts the service on running servers.
 * @throws StartError with one line that names the problem
 */
export async function startService({ config, log, shutdown }: Run, servers: StartedServers): Promise<void> {
  const container = createContainer(config, servers.servers, 'earshot', { lockTimeoutMs: LOCK_TIMEOUT_MS })
  registerActorGauges(container)
  registerMeetingGauge(container)
  registerWebhookGauges(container)
  registerQuotaGauge(container)
  shutdown.add('connections', BUDGET_MS.connections, () => container.close())
  const { applied, signInToken } = await prepareDatabase(container, servers, { log, signal: shutdown.signal })
  if (shutdown.signal.aborted) return
  await container.clock.follow()
  let threads: Threads | null = null
  let stopping: Promise<void> | undefined
  const stopThreads = () => (stopping ??= threads?.stop(BUDGET_MS.threads - FORCE_MS))
  shutdown.add('threads', BUDGET_MS.threads, stopThreads)
  // Workers need no drain: they hand over their actors while requests are still answered.
  shutdown.draining.addEventListener('abort', () => void stopThreads())
  const features = createFeatures(container)
  const port = listen(container, features, shutdown)
  const redisIsAway = await whyRedisIsAway(container)
  process.stdout.write(banner(config, servers, port, { redisIsAway, signInToken }))
  if (applied.length > 0) log.info({ applied }, 'database migrated')
  if (config.warmUp && config.role !== 'worker') void warmUpRequests(features, log)
  if (config.role === 'api') return
  const serve = (port: MessagePort) => serveTextPort(port, container.textWork)
  threads = await startThreads({ ...container, serve })
  const forwarding = await forwardTriggerWakeUps(container)
  shutdown.add('wake-ups', BUDGET_MS.connections, () => forwarding.close())
  const source = threads
  container.metrics.sources.push(() => source.metricsJson())
}

async function prepareDatabase(
  container: Container,
  servers: StartedServers,
  run: { readonly log: Log; readonly signal: AbortSignal },
): Promise<{ readonly applied: readonly number[]; readonly signInToken: string | null }> {
  // The embedded server is ready by now; only an external one may have to be waited for.
  const waitMs = servers.embedded.postgres ? 0 : container.config.databaseWaitMs
  const applied = await onceServerIsThere({ ...run, place: servers.databaseName, waitMs }, async () => {
    return migrateOnce(container, servers)
  })
  // Logs only warnings, so that the banner comes before any log line.
  return { applied, signInToken: servers.embedded.postgres ? await firstRun(quiet(container)) : null }
}

/** Creates the demo on the first start. @returns the token of a link that signs its user in; null on later starts */
async function firstRun(container: Container): Promise<string | null> {
  const features = createFeatures(container)
  const demo = await bootstrapDemo({ ...container, ...features })
  return demo === null ? null : features.identity.createLink(demo.userId)
}

const quiet = (container: Container): Container => ({
  ...container,
  log: container.log.child({}, { level: 'warn' }),
})

/** Uses a separate connection without a statement time-out, because a migration may take long. */
async function migrateOnce(
  { config }: Container,
  { servers: { database }, databaseName }: StartedServers,
): Promise<readonly number[]> {
  const sql = connect(database, {
    max: 1,
    session: true,
    applicationName: 'earshot-migration',
    statementTimeoutMs: null,
  })
  try {
    await assertServer(sql, databaseName)
    await assertRoles(database, sql, config.databaseStatementTimeoutMs)
    return await migrate(sql, MIGRATIONS)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** It runs beside requests. If it fails, the first request does the work itself. */
async function warmUpRequests({ warmUp, tools }: Features, log: Log): Promise<void> {
  await Promise.all([warmUp.requests(), tools.load()]).catch((error: unknown) =>
    log.debug({ err: error }, 'warm-up failed; the first requests will be slower'),
  )
}

/** Opens the port. A worker serves only health checks and metrics. @returns the port */
function listen(container: Container, features: Features, shutdown: Shutdown): number {
  const { config } = container
  const { draining } = shutdown
  const app =
    config.role === 'worker'
      ? createProbeApp(container, draining)
      : createApp(container, { features, draining })
  try {
    // By default two processes could silently share one port.
    app.listen({ hostname: config.host, port: config.port, reusePort: false })
  } catch (error) {
    throw new StartError(whyNotListening(config, error))
  }
  const { server } = app
  if (server === null) throw new Error('listening without a server')
  const lookAway = closeSilentConnections(server.port ?? config.port, container.log)
  shutdown.add('requests', BUDGET_MS.requests, async () => {
    lookAway()
    // Uploads may take hours. Received bytes are stored; clients resume with another process, or later.
    await features.uploadReceiver.stop()
    await features.tools.stop()
    await features.eventStream.stop()
    await server.stop()
    await features.readLog.close()
  })
  return server.port ?? config.port
}

function createProbeApp(container: Container, draining: AbortSignal) {
  const { sql, config } = container
  const parts = [webhooksPart(sql, config), mailPart(config), ...analyzerParts(config)]
  return createHttpApp(container, draining).use(healthRoutes({ ...container, draining, parts }))
}

function mediaBucket({ bucket, endpoint }: NonNullable<Config['s3']>): string {
  return `the bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`
}

/** A line for the banner if Redis does not answer, else null. Everything works without Redis, only a little later. */
async function whyRedisIsAway({ redis }: Pick<Container, 'redis'>): Promise<string | null> {
  if (redis === null || (await answers(redis))) return null
  return 'Redis does not answer: until it does, workers poll for work every few seconds'
}

/** After the first start, or with an external database. */
const AGAIN = 'earshot user link prints a link'

function threads({ workerThreads, capacity }: Config): string {
  const words = workerThreads === 1 ? '1 worker thread' : `${workerThreads} worker threads`
  return capacity.heapBytes === null ? words : `${words}; slower, because there is little memory`
}

/** Shows what a newcomer needs next after the start command. */
function banner(
  config: Config,
  servers: StartedServers,
  port: number,
  { redisIsAway, signInToken }: { redisIsAway: string | null; signInToken: string | null },
): string {
  const url = localUrl(config, port)
  const credentials = join(config.dataDir, 'credentials.json')
  const missing = missingPrograms(findPrograms(config))
  const rows = [
    ['Address', url],
    ...(config.role === 'worker'
      ? []
      : [
          ['Console', `${url}${START_PATH}`],
          ['Sign in', signInToken === null ? AGAIN : linkUrl(url, signInToken, START_PATH)],
          ['Swagger UI', `${url}/docs`],
        ]),
    ...(servers.embedded.postgres && existsSync(credentials) ? [['Credentials', credentials]] : []),
    ...servers.describe.map((line, index) => [index === 0 ? 'Runs on' : '', line]),
    ...(redisIsAway === null ? [] : [['', redisIsAway]]),
    ...(config.role === 'api' ? [] : [['', threads(config)]]),
    ['Media in', config.s3 === null ? join(config.dataDir, 'media') : mediaBucket(config.s3)],
    ...(config.role === 'api' || missing === null ? [] : [['', missing]]),
    ...(config.role === 'api' ? [] : [['Transcribes', describeTranscription(config.transcribe)]]),
  ]
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(12)} ${value}`)
  return `\nEarshot ${version}\n\n${lines.join('\n')}\n\n`
}
