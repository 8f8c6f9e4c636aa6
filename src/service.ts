/**
 * The service between its servers and its port: migrations, demo credentials, HTTP, worker threads, banner.
 *
 * The rule: each part is entered for the shutdown before it can do anything, in an order whose reverse is the order of
 * stopping: requests first, then threads, then connections.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { version } from '../package.json'
import { MIGRATIONS } from '../sql/migrations.ts'
import { registerActorGauges } from './actors/gauges.ts'
import { startThreads, type Threads } from './actors/threads.ts'
import { serveTextPort } from './analyze/text-port.ts'
import { createApp } from './app.ts'
import type { Config } from './config.ts'
import { type Container, createContainer } from './container.ts'
import { createFeatures, type Features } from './features.ts'
import { createHttpApp } from './http/http-app.ts'
import { bootstrapDemo } from './identity/demo.ts'
import { findPrograms, missingPrograms } from './media/programs.ts'
import { onceServerIsThere } from './platform/db/first-contact.ts'
import { migrate } from './platform/db/migrate.ts'
import { connect } from './platform/db/pool.ts'
import { assertServer } from './platform/db/server-version.ts'
import type { StartedServers } from './platform/embedded/servers.ts'
import type { Shutdown } from './platform/lifecycle/shutdown.ts'
import { oneLine, StartError } from './platform/lifecycle/start-error.ts'
import { healthRoutes } from './platform/observability/health.ts'
import type { Log } from './platform/observability/log.ts'
import { answers } from './platform/redis.ts'
import { describeTranscription } from './transcribe/examine.ts'

const BUDGET_MS = { requests: 10_000, threads: 15_000, connections: 6_000 } as const

/** What of the budget is left to end threads by force. */
const FORCE_MS = 1_000

export interface Run {
  readonly config: Config
  readonly log: Log
  readonly shutdown: Shutdown
}

/**
 * Brings the service up on servers that run.
 * @throws StartError with one line on what is in the way
 */
export async function startService({ config, log, shutdown }: Run, servers: StartedServers): Promise<void> {
  const container = createContainer(config, servers.servers, 'earshot')
  registerActorGauges(container)
  shutdown.add('connections', BUDGET_MS.connections, () => container.close())
  const applied = await prepareDatabase(container, servers, { log, signal: shutdown.signal })
  if (shutdown.signal.aborted) return
  let threads: Threads | null = null
  shutdown.add('threads', BUDGET_MS.threads, () => threads?.stop(BUDGET_MS.threads - FORCE_MS))
  const warm = Promise.withResolvers<unknown>()
  const features = createFeatures(container)
  const port = listen(container, features, warm.promise, shutdown)
  process.stdout.write(banner(config, servers, port, await whyRedisIsAway(container)))
  if (applied.length > 0) log.info({ applied }, 'database migrated')
  const requests = config.role === 'worker' ? null : warmUpRequests(features, log)
  if (config.role === 'api') return warm.resolve(requests)
  const serve = (port: MessagePort) => serveTextPort(port, container.textWork)
  threads = await startThreads({ ...container, serve })
  warm.resolve(Promise.all([requests, threads.warm()]))
  const source = threads
  container.metrics.sources.push(() => source.metricsJson())
}

async function prepareDatabase(
  container: Container,
  servers: StartedServers,
  run: { readonly log: Log; readonly signal: AbortSignal },
): Promise<readonly number[]> {
  // A server of our own has been waited for by whoever started it.
  const waitMs = servers.embedded.postgres ? 0 : container.config.databaseWaitMs
  const applied = await onceServerIsThere({ ...run, place: servers.databaseName, waitMs }, async () => {
    await assertServer(container.sql, servers.databaseName)
    return migrateOnce(servers)
  })
  // The banner is the first thing that a newcomer reads.
  if (servers.embedded.postgres) await bootstrapDemo({ ...container, ...createFeatures(quiet(container)) })
  return applied
}

const quiet = (container: Container): Container => ({
  ...container,
  log: container.log.child({}, { level: 'warn' }),
})

/** On a connection of its own: a migration of much data may take longer than any other statement. */
async function migrateOnce({ servers: { database } }: StartedServers): Promise<readonly number[]> {
  const sql = connect(database, { max: 1, applicationName: 'earshot-migration', statementTimeoutMs: null })
  try {
    return await migrate(sql, MIGRATIONS)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** What it cannot do is done by the first request that needs it. */
async function warmUpRequests({ warmUp }: Features, log: Log): Promise<void> {
  await warmUp.requests().catch((error: unknown) => log.debug({ err: error }, 'not warmed up'))
}

/** Opens the port. A worker answers only what machines ask of it. @returns the port */
function listen(
  container: Container,
  features: Features,
  warmedUp: Promise<unknown>,
  shutdown: Shutdown,
): number {
  const { config } = container
  const app =
    config.role === 'worker'
      ? createProbeApp({ ...container, warmedUp })
      : createApp(container, { features, warmedUp })
  try {
    // Without this two processes would share one port without a word.
    app.listen({ hostname: config.host, port: config.port, reusePort: false })
  } catch (error) {
    throw new StartError(whyNotListening(config, error))
  }
  const { server } = app
  if (server === null) throw new Error('listening without a server')
  shutdown.add('requests', BUDGET_MS.requests, async () => {
    // Uploads may take hours: what has come is stored, and their clients go on with another process, or later.
    await features.uploadReceiver.stop()
    await server.stop()
  })
  return server.port ?? config.port
}

function createProbeApp(container: Container & { readonly warmedUp: Promise<unknown> }) {
  return createHttpApp(container).use(healthRoutes(container))
}

function whyNotListening({ host, port }: Config, error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `PORT is ${port}, but something else listens there: stop it, or choose another port`
    case 'EACCES':
      return `PORT is ${port}, but this user may not listen there: choose a port from 1024 to 65535`
    default:
      return `HOST is ${JSON.stringify(host)} and PORT is ${port}, but it is not possible to listen there: ${oneLine(error)}`
  }
}

function mediaBucket({ bucket, endpoint }: NonNullable<Config['s3']>): string {
  return `the bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`
}

/** One line for the banner; null where Redis answers, or there is none. Everything works without it, a little later. */
async function whyRedisIsAway({ redis }: Pick<Container, 'redis'>): Promise<string | null> {
  if (redis === null || (await answers(redis))) return null
  return 'Redis does not answer: work is found by looking for it every few seconds, until Redis is there'
}

/** What somebody who has just typed the start command needs next. */
function banner(config: Config, servers: StartedServers, port: number, redisIsAway: string | null): string {
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host
  const url = config.publicBaseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const credentials = join(config.dataDir, 'credentials.json')
  const missing = missingPrograms(findPrograms(config))
  const rows = [
    ['Address', url],
    ...(config.role === 'worker' ? [] : [['Swagger UI', `${url}/docs`]]),
    ...(servers.embedded.postgres && existsSync(credentials) ? [['Credentials', credentials]] : []),
    ...servers.describe.map((line, index) => [index === 0 ? 'Runs on' : '', line]),
    ...(redisIsAway === null ? [] : [['', redisIsAway]]),
    ...(config.role === 'api' ? [] : [['', `${config.workerThreads} worker threads`]]),
    ['Media in', config.s3 === null ? join(config.dataDir, 'media') : mediaBucket(config.s3)],
    ...(config.role === 'api' || missing === null ? [] : [['', missing]]),
    ...(config.role === 'api' ? [] : [['Transcribes', describeTranscription(config.transcribe)]]),
  ]
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(12)} ${value}`)
  return `\nEarshot ${version}\n\n${lines.join('\n')}\n\n`
}
