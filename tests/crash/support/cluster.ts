/**
 * A whole installation for one trial: a private PostgreSQL and Redis behind proxies, one API process and two worker
 * processes, which are restarted whenever they end, as by a supervisor.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect, type Sql } from '../../../src/platform/db/pool.ts'
import { eventually } from '../../support/eventually.ts'
import { EARSHOT } from '../../support/executable.ts'
import { type PrivateRedis, startPrivateRedis } from '../../support/private-redis.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from './private-postgres.ts'

const ROOT = resolve(import.meta.dir, '../../..')
const FAULTY_SERVICE = new URL('faulty-service.ts', import.meta.url).pathname
const RESPAWN_MS = 200
const STATEMENT_TIMEOUT_SECONDS = '2'

export interface Cluster {
  /** The URL of the current API process. */
  readonly baseUrl: string
  readonly postgres: PrivatePostgres
  readonly redis: PrivateRedis
  readonly postgresLine: TcpProxy
  readonly redisLine: TcpProxy
  /** Straight to the server, past the proxy. */
  readonly sql: Sql
  readonly api: Supervised
  readonly workers: readonly Supervised[]
  /** Runs `work` exclusively for a target: two faults of one server never overlap. */
  alone<T>(thing: string, work: () => Promise<T>): Promise<T>
  /** Resolves when the API answers and every worker works. */
  ready(): Promise<void>
  stop(): Promise<void>
}

/** A process that is restarted when it ends. */
interface Supervised {
  kill(signal: NodeJS.Signals): void
  /** The number of restarts. */
  readonly restarts: number
  /** A description of the current process, for error messages. */
  state(): string
  /** Stops supervising and ends the process. */
  end(): Promise<void>
}

/** Starts everything. The schema is made by the processes themselves. */
export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-trial-'))
  const [postgresPort, redisPort, port] = [freePort(), freePort(), freePort()]
  const [postgres, redis] = await Promise.all([
    startPrivatePostgres(postgresPort),
    startPrivateRedis(redisPort),
  ])
  const [postgresLine, redisLine] = await Promise.all([startTcpProxy(postgresPort), startTcpProxy(redisPort)])
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    TMPDIR: tmpdir(),
    DATA_DIR: join(folder, 'data'),
    HOST: '127.0.0.1',
    DATABASE_URL: `postgres://postgres@127.0.0.1:${postgresLine.port}/postgres`,
    DATABASE_STATEMENT_TIMEOUT: STATEMENT_TIMEOUT_SECONDS,
    REDIS_URL: `redis://127.0.0.1:${redisLine.port}`,
    LOG_LEVEL: process.env.TRIAL_LOG_LEVEL ?? 'silent',
    RATE_LIMIT_AGENT_INGEST: '0',
    WORKER_THREADS: '1',
    WARM_UP: 'false',
    // Of the text processes of the workers.
    ...(process.env.TEST_EXECUTABLE ? { TEST_EXECUTABLE: process.env.TEST_EXECUTABLE } : {}),
  }
  const api = supervise([...EARSHOT, 'serve'], { ...environment, ROLE: 'api', PORT: String(port) })
  const baseUrl = `http://127.0.0.1:${port}`
  await eventually(() => isReady(baseUrl), { deadlineMs: 60_000 })
  const sql = connect({ url: postgres.url }, { max: 4, applicationName: 'trial' })
  await sql`
    create table probe (
      id bigserial primary key, key text not null, seq bigint not null, token text not null, part int not null
    )`
  const worker = () => supervise([process.execPath, FAULTY_SERVICE], { ...environment, ROLE: 'worker' })
  const workers = [worker(), worker()]
  return {
    baseUrl,
    postgres,
    redis,
    postgresLine,
    redisLine,
    sql,
    api,
    workers,
    alone: createTurns(),
    async ready() {
      await eventually(() => isReady(baseUrl), { deadlineMs: 60_000 })
      await eventually(() => live(sql, workers.length), { deadlineMs: 60_000 }).catch(async (error) => {
        const beats = await sql`select id, now() - heartbeat_at as age from worker order by age limit 4`
        const processes = workers.map((worker) => worker.state())
        throw new Error(`not every worker works: ${JSON.stringify({ processes, beats })}`, { cause: error })
      })
    },
    async stop() {
      await Promise.all([api, ...workers].map((process) => process.end()))
      await Promise.all([postgresLine.stop(), redisLine.stop(), sql.end({ timeout: 1 })])
      await Promise.all([postgres.stop(), redis.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createTurns(): Cluster['alone'] {
  const last = new Map<string, Promise<unknown>>()
  return (thing, work) => {
    const turn = (last.get(thing) ?? Promise.resolve()).then(work)
    last.set(
      thing,
      turn.catch(() => {}),
    )
    return turn
  }
}

async function isReady(baseUrl: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/ready`, { signal: AbortSignal.timeout(2_000) })
  return response.ok
}

async function live(sql: Sql, count: number): Promise<boolean> {
  const rows = await sql`select from worker where heartbeat_at > now() - interval '2 seconds'`
  return rows.length >= count
}

/** The state reported by the kernel, if any: `S (sleeping)`, `T (stopped)`. */
function processState(pid: number): string {
  try {
    return /^State:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 'unknown'
  } catch {
    return 'not there'
  }
}

function supervise(command: readonly string[], env: Readonly<Record<string, string>>): Supervised {
  let ending = false
  let restarts = 0
  const spawn = () =>
    Bun.spawn([...command], {
      cwd: ROOT,
      env,
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'inherit',
    })
  let child = spawn()
  const supervised = (async () => {
    for (;;) {
      await child.exited
      if (ending) return
      await Bun.sleep(RESPAWN_MS)
      if (ending) return
      restarts += 1
      child = spawn()
    }
  })()
  return {
    kill: (signal) => child.kill(signal),
    get restarts() {
      return restarts
    },
    state: () => `${child.pid} ${processState(child.pid)}, exit code ${child.exitCode}, ${restarts} restarts`,
    async end() {
      ending = true
      child.kill('SIGKILL')
      await supervised
    },
  }
}
