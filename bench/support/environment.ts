/**
 * The environment of a benchmark: a private durable PostgreSQL (fsync on), a private Redis, and the service as a process.
 *
 * Only what users run is measured. The real service is started as a child process
 * and called over HTTP on the loopback interface. Everything runs on this machine and shares its cores.
 */
import { resolve } from 'node:path'
import { startServers } from '../../scripts/check/servers.ts'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'

const ROOT = resolve(import.meta.dir, '../..')
const READY_TIMEOUT_MS = 30_000

export interface Environment extends AsyncDisposable {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly sql: Sql
}

/** Starts both servers and migrates an empty database. */
export async function openEnvironment(connections: number): Promise<Environment> {
  await using stack = new AsyncDisposableStack()
  const redis = Bun.which('redis-server') ?? Bun.which('valkey-server')
  if (redis === null) throw new Error('install redis-server to run the benchmarks')
  const servers = stack.use(await startServers(redis, new AbortController().signal, { durable: true }))
  const databaseUrl = servers.environment.TEST_DATABASE_URL
  const sql = connect({ url: databaseUrl }, { max: connections, applicationName: 'bench' })
  stack.defer(() => sql.end({ timeout: 5 }))
  await migrate(sql, MIGRATIONS)
  const kept = stack.move()
  return {
    databaseUrl,
    redisUrl: servers.environment.TEST_REDIS_URL,
    sql,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

export interface RunningService extends AsyncDisposable {
  readonly baseUrl: string
  readonly pid: number
}

/** Starts the service with its rate limits off and waits until it is ready. */
export function startService(
  environment: Environment,
  variables: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  return startProgram('src/cli.ts', environment, variables)
}

/**
 * Starts a program of this repository that reads the settings of the service, prints its address and answers `/ready`.
 * @param runtime the executable that runs it; Bun by default
 */
export async function startProgram(
  program: string,
  environment: Environment,
  variables: Readonly<Record<string, string>> = {},
  runtime = process.execPath,
): Promise<RunningService> {
  const child = Bun.spawn([runtime, program], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'warn',
      DATABASE_URL: environment.databaseUrl,
      DATABASE_POOL_SIZE: '20',
      REDIS_URL: environment.redisUrl,
      DATA_DIR: `${process.env.TMPDIR ?? '/tmp'}/earshot-bench-${process.pid}`,
      DRAIN_SECONDS: '0',
      RATE_LIMIT_READS: '0',
      RATE_LIMIT_WRITES: '0',
      RATE_LIMIT_AGENT_INGEST: '0',
      RATE_LIMIT_FEEDBACK: '0',
      RATE_LIMIT_FORMS: '0',
      ...variables,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const baseUrl = await readAddress(child.stdout)
  return {
    baseUrl,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

/** The address that the service prints when it listens; then waits for `/ready`. */
async function readAddress(stdout: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let output = ''
  for await (const chunk of stdout) {
    output += decoder.decode(chunk, { stream: true })
    const port = /\bhttps?:\/\/[^\s/"]+:(\d+)/.exec(output)?.[1]
    if (port !== undefined) return untilReady(`http://127.0.0.1:${port}`)
  }
  throw new Error(`the service did not start:\n${output}`)
}

async function untilReady(baseUrl: string): Promise<string> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (performance.now() < deadline) {
    const response = await fetch(`${baseUrl}/ready`).catch(() => null)
    if (response?.ok) return baseUrl
    await Bun.sleep(20)
  }
  throw new Error('the service is not ready')
}
