/**
 * Redis connections. Redis holds only notifications and counters, which may be lost. So commands fail at once while Redis is
 * away (`enableOfflineQueue: false`), and the caller continues without it.
 */
import { Redis } from 'ioredis'
import type { Log } from './observability/log.ts'

export type { Redis }

const COMMAND_TIMEOUT_MS = 2_000
/** A connection that does not answer a command in this time was cut silently, and is replaced. */
const SOCKET_TIMEOUT_MS = 4_000

/** A producer connection to `redis://…`, `rediss://…` or `redis+unix:///path/to.sock`. */
export function openRedis(url: string, log: Log): Redis {
  return watch(
    new Redis({
      ...endpoint(url),
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    }),
    log,
  )
}

/** A separate connection for blocking reads. It waits for Redis without a limit. */
export function openBlockingRedis(url: string, log: Log): Redis {
  return watch(new Redis({ ...endpoint(url), maxRetriesPerRequest: null }), log)
}

function endpoint(url: string) {
  const retryStrategy = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000)
  if (url.startsWith('redis+unix://')) {
    return { path: decodeURIComponent(new URL(url).pathname), retryStrategy }
  }
  const { hostname, port, username, password, pathname, protocol } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 6379 : Number(port),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1) || 0),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
    retryStrategy,
  }
}

/** Logs one line when the connection is lost and one when it is back, however many retries there are. */
function watch(redis: Redis, log: Log): Redis {
  let lost = false
  redis.on('error', (error: Error) => {
    if (!lost) log.warn({ err: error.message }, 'redis connection lost')
    lost = true
  })
  redis.on('ready', () => {
    if (lost) log.info('redis connection is back')
    lost = false
  })
  return redis
}

/** True if Redis answers. Waits for a connection that is being opened. Never rejects, and takes at most 2 s. */
export async function answers(redis: Redis): Promise<boolean> {
  const connected = Promise.withResolvers<void>()
  if (redis.status === 'ready') connected.resolve()
  redis.once('ready', connected.resolve)
  redis.once('error', connected.resolve)
  const timer = setTimeout(connected.resolve, COMMAND_TIMEOUT_MS)
  try {
    await connected.promise
    await redis.ping()
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
    redis.off('ready', connected.resolve)
    redis.off('error', connected.resolve)
  }
}
