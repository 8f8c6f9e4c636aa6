/**
 * PostgreSQL and Redis for one check, on free loopback ports, in a temporary folder. A check needs no durability
 * (`fsync=off`); a benchmark asks for `durable`.
 */
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../src/platform/db/pool.ts'
import { findBinaries } from '../../src/platform/embedded/binaries.ts'
import { chooseRunner } from '../../src/platform/embedded/runner.ts'
import { startServer } from './process.ts'

/** Attempts to start a server. Another program may take a port after it was found free. */
const ATTEMPTS = 3
const READY_TIMEOUT_MS = 60_000
const POLL_MS = 20
/** A file system in memory. In containers it is often small. */
const MEMORY_FOLDER = '/dev/shm'
const MIN_FREE_MEMORY_BYTES = 4 * 2 ** 30

const CLUSTER = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
const SETTINGS = ['max_connections=400', 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
const VOLATILE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

export interface TestServers extends AsyncDisposable {
  /** Environment of the test processes. */
  readonly environment: { readonly TEST_DATABASE_URL: string; readonly TEST_REDIS_URL: string }
}

export interface ServerOptions {
  /** Keeps PostgreSQL's default settings, with which commits survive a crash. */
  readonly durable?: boolean
}

interface Place extends ServerOptions {
  readonly folder: string
  readonly signal: AbortSignal
  readonly stack: AsyncDisposableStack
}

/** Starts both servers. Disposing stops them and removes their folder. `redis` is the path of the server program. */
export async function startServers(
  redis: string,
  signal: AbortSignal,
  options: ServerOptions = {},
): Promise<TestServers> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(options.durable ? tmpdir() : await volatileFolder(), 'earshot-check-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  // PostgreSQL may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  const place = { ...options, folder, signal, stack }
  const started = await Promise.allSettled([startPostgres(place), startRedis(redis, place)])
  const [database, cache] = started.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
  const kept = stack.move()
  return {
    environment: { TEST_DATABASE_URL: database as string, TEST_REDIS_URL: cache as string },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Where data may be lost: in memory if there is room (Linux), else on disk. Each test file clones a database of 300 files, and
 * some file systems take long to create that many.
 */
async function volatileFolder(): Promise<string> {
  const free = await statfs(MEMORY_FOLDER).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free >= MIN_FREE_MEMORY_BYTES ? MEMORY_FOLDER : tmpdir()
}

async function startPostgres(place: Place): Promise<string> {
  const home = join(place.folder, 'postgres')
  const data = join(home, 'data')
  const folders = { root: place.folder, home, data, socket: join(home, 'socket') }
  const { prefix, binaries } = await chooseRunner(folders, await findBinaries(place.folder))
  const program = (name: string) => [...prefix, join(binaries.folder, 'bin', name)]
  await createCluster([...program('initdb'), '-D', data, ...CLUSTER], place)
  const settings = [...SETTINGS, ...(place.durable ? [] : VOLATILE)].flatMap((setting) => ['-c', setting])
  return startOnFreePort('PostgreSQL', place, {
    command: (port) => [...program('postgres'), '-D', data, '-p', String(port), ...settings],
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    // SIGINT asks for a fast shutdown, which closes open connections.
    stopSignal: 'INT',
    answers: postgresAnswers,
  })
}

async function createCluster(command: readonly string[], place: Place): Promise<void> {
  const child = Bun.spawn([...command], {
    cwd: place.folder,
    env: { ...process.env, LC_ALL: 'C' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    signal: place.signal,
  })
  const [message, code] = await Promise.all([child.stderr.text(), child.exited])
  place.signal.throwIfAborted()
  if (code !== 0) throw new Error(`initdb failed: ${message}`)
}

function startRedis(program: string, place: Place): Promise<string> {
  return startOnFreePort('Redis', place, {
    command: (port) => [
      program,
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--save',
      '',
      '--appendonly',
      'no',
    ],
    url: (port) => `redis://127.0.0.1:${port}`,
    stopSignal: 'TERM',
    answers: redisAnswers,
  })
}

interface Startable {
  command(port: number): readonly string[]
  url(port: number): string
  readonly stopSignal: 'INT' | 'TERM'
  answers(url: string): Promise<boolean>
}

/** Starts the server, waits for its first answer and returns its URL. The stack stops it. */
async function startOnFreePort(name: string, place: Place, startable: Startable): Promise<string> {
  const log = join(place.folder, `${name}.log`)
  for (let attempt = 1; ; attempt++) {
    const port = freePort()
    const server = startServer(startable.command(port), {
      cwd: place.folder,
      log,
      stopSignal: startable.stopSignal,
    })
    const ended = server.exited.then(() => 'ended' as const)
    const state = await Promise.race([ended, untilAnswers(startable, startable.url(port), place.signal)])
    if (state === 'ready') {
      place.stack.defer(server.stop)
      return startable.url(port)
    }
    await server.stop()
    place.signal.throwIfAborted()
    if (attempt === ATTEMPTS) throw new Error(`${name} did not start:\n${await server.output()}`)
  }
}

async function untilAnswers(
  startable: Startable,
  url: string,
  signal: AbortSignal,
): Promise<'ready' | 'silent'> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (performance.now() < deadline && !signal.aborted) {
    if (await startable.answers(url).catch(() => false)) return 'ready'
    await Bun.sleep(POLL_MS)
  }
  return 'silent'
}

/** A port that no program uses at this moment. */
function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

async function postgresAnswers(url: string): Promise<boolean> {
  const sql = connect({ url }, { max: 1, applicationName: 'check' })
  try {
    await sql`select 1`
    return true
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** Without data to load, Redis is ready as soon as it listens. */
function redisAnswers(url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(url).port) })
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
