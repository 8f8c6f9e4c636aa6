/**
 * A Redis server for one test, which may kill, restart or flush it. It listens on a Unix socket and stores nothing on
 * disk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { eventually } from './eventually.ts'

export interface PrivateRedis {
  /** `redis+unix://…`. A restart does not change it. */
  readonly url: string
  /** Runs one command, such as `command('FLUSHALL')`. */
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown>
  /** Kills it, as `kill -9` does. */
  kill(): Promise<void>
  /** Freezes (`SIGSTOP`) or thaws (`SIGCONT`) it. Connections stay open, but get no answer. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Starts it again, empty. */
  restart(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

/**
 * @param port also listens on this port of the loopback interface; 0: on none
 * @param more settings, as arguments of the program
 * @throws Error if there is no Redis program
 */
export async function startPrivateRedis(port = 0, more: readonly string[] = []): Promise<PrivateRedis> {
  const program = Bun.which('redis-server') ?? Bun.which('valkey-server')
  if (program === null) throw new Error('no redis-server on the PATH: run the tests with "bun run check"')
  const folder = mkdtempSync(join(tmpdir(), 'earshot-redis-'))
  const socket = join(folder, 'redis.sock')
  let child = await launch(program, folder, socket, port, more)
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  return {
    url: `redis+unix://${socket}`,
    command: (name, ...args) => withClient(socket, (client) => client.call(name, ...args)),
    kill,
    signal: (signal) => child.kill(signal),
    async restart() {
      await kill()
      child = await launch(program, folder, socket, port, more)
    },
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function launch(
  program: string,
  folder: string,
  socket: string,
  port: number,
  more: readonly string[],
) {
  rmSync(socket, { force: true })
  const settings = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--unixsocket',
    socket,
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
    ...more,
  ]
  const child = Bun.spawn([program, ...settings], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await eventually(() => withClient(socket, (client) => client.ping()))
  return child
}

async function withClient<T>(socket: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis({ path: socket, lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    client.disconnect()
  }
}
