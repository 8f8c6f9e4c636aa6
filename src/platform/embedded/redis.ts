/**
 * The embedded Redis server: a child process without persistence, because it carries only hints and counters.
 *
 * Redis is optional. If there is no program or it does not start, the service runs without it. Each start uses a new
 * socket name, so that two processes that start at once do not remove each other's socket.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { resolvesWithin } from '../concurrency/timeout.ts'
import type { Log } from '../observability/log.ts'
import { type Server, spawnServer, until } from './processes.ts'
import { privateFolder, removeShortFolder, socketFolder } from './socket-folder.ts'

const SOCKET = /^redis-[0-9a-f]{8}\.sock$/
const START_BUDGET_MS = 5_000
const STOP_BUDGET_MS = 3_000
const MAX_RESPAWN_DELAY_MS = 5_000

export interface EmbeddedRedis {
  /** `redis+unix:///path/to.sock` */
  readonly url: string
  readonly program: string
  stop(): Promise<void>
  /** Kills it without waiting. */
  abandon(): void
}

/** Starts a Redis and restarts it after a crash. Null if the machine has no such program. */
export async function startRedis(dataDir: string, log: Log): Promise<EmbeddedRedis | null> {
  const program = Bun.which('redis-server') ?? Bun.which('valkey-server')
  if (program === null) return null
  const folder = redisFolder(dataDir)
  const socket = join(folder, newSocketName())
  let server = spawnRedis(program, dataDir, socket)
  let stopping = false
  const supervise = async () => {
    for (let failures = 0; ; failures++) {
      const startedAt = performance.now()
      const code = await server.exited
      if (stopping) return
      if (performance.now() - startedAt > MAX_RESPAWN_DELAY_MS) failures = 0
      log.warn({ code }, 'the embedded Redis ended: starting it again')
      await Bun.sleep(Math.min(20 * 2 ** failures, MAX_RESPAWN_DELAY_MS))
      if (stopping) return
      redisFolder(dataDir)
      server = spawnRedis(program, dataDir, socket)
    }
  }
  const supervised = supervise()
  const end = (signal: NodeJS.Signals) => {
    stopping = true
    server.kill(signal)
  }
  if (!(await until(() => answersPing(socket), START_BUDGET_MS))) {
    end('SIGKILL')
    log.warn({ program, folder }, 'the embedded Redis does not answer: continuing without it')
    return null
  }
  return {
    url: redisUrl(socket),
    program,
    async stop() {
      end('SIGTERM')
      if (!(await resolvesWithin(supervised, STOP_BUDGET_MS))) server.kill('SIGKILL')
      rmSync(socket, { force: true })
      removeShortFolder(folder)
    },
    abandon: () => end('SIGKILL'),
  }
}

/** The URL of the Redis of the service process of this folder, or null. */
export async function findRedis(dataDir: string): Promise<string | null> {
  const folder = redisFolder(dataDir)
  for (const socket of sockets(folder)) {
    if (await answersPing(socket)) return redisUrl(socket)
  }
  removeShortFolder(folder)
  return null
}

/**
 * Stops Redis servers that killed processes left behind, except `own`. Call it only as the owner of the data folder, or if
 * there is no owner.
 */
export async function endOrphans(dataDir: string, own: EmbeddedRedis | null): Promise<void> {
  const folder = redisFolder(dataDir)
  for (const socket of sockets(folder)) {
    if (redisUrl(socket) === own?.url) continue
    await command(socket, 'SHUTDOWN NOSAVE')
    rmSync(socket, { force: true })
  }
  if (own === null) removeShortFolder(folder)
}

const homeOf = (dataDir: string) => join(dataDir, 'redis')

function redisFolder(dataDir: string): string {
  const preferred = homeOf(dataDir)
  const folder = socketFolder(preferred, newSocketName())
  const self = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
  mkdirSync(preferred, { recursive: true })
  privateFolder(folder, self, [self.uid])
  return folder
}

function newSocketName(): string {
  return `redis-${crypto.randomUUID().slice(0, 8)}.sock`
}

function sockets(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => SOCKET.test(name))
    .map((name) => join(folder, name))
}

function redisUrl(socket: string): string {
  return `redis+unix://${pathToFileURL(socket).pathname}`
}

/** Its log is below the data folder, so that the folder of the socket is empty after the stop. */
function spawnRedis(program: string, dataDir: string, socket: string): Server {
  const options = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    dir: dirname(socket),
  }
  const argv = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  return spawnServer([program, ...argv], '/', join(homeOf(dataDir), 'redis.log'))
}

async function answersPing(socket: string): Promise<boolean> {
  return (await command(socket, 'PING'))?.startsWith('+PONG') ?? false
}

/** Sends one inline command and resolves with the first bytes of the answer, or null if there is none. */
function command(socket: string, text: string): Promise<string | null> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    const finish = (answer: string | null) => {
      connection.destroy()
      resolve(answer)
    }
    connection.setTimeout(1_000, () => finish(null))
    connection.once('connect', () => connection.write(`${text}\r\n`))
    connection.once('data', (bytes) => finish(bytes.toString()))
    connection.once('error', () => finish(null))
    connection.once('close', () => finish(null))
  })
}
