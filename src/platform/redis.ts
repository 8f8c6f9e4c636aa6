/**
 * Redis connections. Redis holds only notifications and counters, which may be lost. So commands fail at once while Redis is
 * away (`enableOfflineQueue: false`), and the caller continues without it.
 */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import type { Log } from './observability/log.ts'

export type { Redis }

const COMMAND_TIMEOUT_MS = 2_000
/** A connection that does not answer a command in this time was cut silently, and is replaced. */
const SOCKET_TIMEOUT_MS = 4_000

/**
 * Answers of a server that takes no writes: a replica after a failover, a full memory, a node of a cluster, a disk that fails. The
 * address may lead to another server by now, so the connection is opened anew.
 */
const REFUSAL = /(?:^|[\s-])(?:READONLY|OOM|MOVED|CLUSTERDOWN|MISCONF) /
/** The user lacks a right, which a new connection would not mend. */
const LACKING_RIGHT = /\bNOPERM |unknown command/
/** The shortest pause between two connections that are opened because of a refusal. */
const RENEW_MS = 1_000
const LOG_REFUSAL_MS = 60_000

/** A producer connection to `redis://…`, `rediss://…` or `redis+unix:///path/to.sock`. */
export function openRedis(url: string, log: Log): Redis {
  return watch(
    new Redis({
      ...endpoint(url),
      reconnectOnError: renewOnRefusal(log),
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
  const reconnectOnError = renewOnRefusal(log)
  return watch(new Redis({ ...endpoint(url), reconnectOnError, maxRetriesPerRequest: null }), log)
}

/**
 * Logs refusals, each kind once a minute.
 * @returns true if the connection should be opened anew because of the error. The command fails in any case.
 */
function renewOnRefusal(log: Log): (error: Error) => boolean {
  let renewedAt = Number.NEGATIVE_INFINITY
  const loggedAt = new Map<string, number>()
  const warn = (err: string, now: number, text: string) => {
    if (now - (loggedAt.get(text) ?? Number.NEGATIVE_INFINITY) < LOG_REFUSAL_MS) return
    log.warn({ err }, text)
    loggedAt.set(text, now)
  }
  return ({ message }) => {
    const now = performance.now()
    if (LACKING_RIGHT.test(message)) warn(message, now, 'redis refuses a command of the service')
    if (!REFUSAL.test(message) || now - renewedAt < RENEW_MS) return false
    renewedAt = now
    warn(message, now, 'redis refuses writes: connecting anew')
    return true
  }
}

function endpoint(url: string) {
  const retryStrategy = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000)
  if (url.startsWith('redis+unix://')) {
    return { path: decodeURIComponent(new URL(url).pathname), retryStrategy }
  }
  const { hostname, port, username, password, pathname, protocol, searchParams } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 6379 : Number(port),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1) || 0),
    ...(protocol === 'rediss:' ? { tls: filesOf(searchParams) } : {}),
    retryStrategy,
  }
}

/** Certificates, which the settings have put into the URL by their paths. Without an authority those count that this process trusts. */
function filesOf(parameters: URLSearchParams) {
  const names = ['ca', 'cert', 'key'].filter((name) => parameters.has(name))
  return Object.fromEntries(names.map((name) => [name, readFileSync(parameters.get(name) as string)]))
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

/** True if Redis answers. Waits for a connection that is being opened. Never rejects, and takes at most 4 s. */
export async function answers(redis: Redis): Promise<boolean> {
  try {
    await opened(redis)
    await redis.ping()
    return true
  } catch {
    return false
  }
}

/** Resolves when a connection that is being opened is open or has failed, after 2 s at the latest. */
export async function opened(redis: Redis): Promise<void> {
  if (!['wait', 'connecting', 'connect'].includes(redis.status)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  redis.once('ready', resolve)
  redis.once('error', resolve)
  const timer = setTimeout(resolve, COMMAND_TIMEOUT_MS)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    redis.off('ready', resolve)
    redis.off('error', resolve)
  }
}
