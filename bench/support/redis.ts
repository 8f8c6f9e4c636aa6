/**
 * Redis servers for peers that keep their queues in Redis: with defaults (occasional snapshots), or as durable as PostgreSQL
 * (append-only, synced before every response).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startServer } from '../../scripts/check/process.ts'

const DURABILITY = {
  'as it comes': [],
  'synced always': ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'],
} as const
export type RedisDurability = keyof typeof DURABILITY

export interface RunningRedis extends AsyncDisposable {
  readonly url: string
}

/** Starts a server on a private Unix socket; disposing stops it and deletes its data. */
export async function startRedis(durability: RedisDurability): Promise<RunningRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-bench-redis-'))
  const socket = join(folder, 'redis.sock')
  const command = ['redis-server', '--port', '0', '--unixsocket', socket, '--dir', folder]
  const server = startServer([...command, ...DURABILITY[durability]], {
    cwd: folder,
    log: join(folder, 'redis.log'),
    stopSignal: 'TERM',
  })
  const client = new Redis({ path: socket, maxRetriesPerRequest: 100, retryStrategy: () => 50 })
  client.on('error', () => {})
  await client.ping()
  client.disconnect()
  return {
    url: socket,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
