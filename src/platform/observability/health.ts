/**
 * Liveness, readiness and metrics of this process.
 *
 * `/health` uses no dependency, so a database outage does not cause restarts of healthy processes. `/ready` checks every
 * dependency of this process and names it. It is 503 only while requests cannot be answered: without the database, or while the
 * process drains before its end.
 */
import { Elysia } from 'elysia'
import { AggregatorRegistry } from 'prom-client'
import { MIGRATIONS } from '../../../sql/migrations.ts'
import type { Clock } from '../clock.ts'
import { cachedFor } from '../concurrency/cached.ts'
import { withTimeout } from '../concurrency/timeout.ts'
import { assertMigrated } from '../db/migrate.ts'
import type { Sql } from '../db/pool.ts'
import { withRemedy } from '../db/remedy.ts'
import { assertServerStores, assertServerWritable } from '../db/server-version.store.ts'
import { asUnavailable } from '../db/sqlstate.ts'
import type { Servers } from '../lifecycle/servers.ts'
import { oneLine } from '../lifecycle/start-error.ts'
import { textResponse } from '../net/compression.ts'
import { readOnly } from '../net/methods.ts'
import type { Redis } from '../redis.ts'
import { assertRedisUsable } from '../redis-usable.ts'
import type { ObjectStore } from '../storage/storage.ts'
import { createPart, type Degraded, type Part, type PartOptions } from './degraded.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

const CHECK_BUDGET_MS = 2_000
/** Age up to which an answer is reused, because requests to a bucket cost money and a hanging disk should be checked once. */
const STORAGE_CHECK_EVERY_MS = 10_000
/** Each check writes to the disk of the database. */
const DATABASE_CHECK_EVERY_MS = 30_000

interface HealthDeps {
  readonly config: { readonly role: string }
  readonly servers: Servers
  readonly sql: Sql
  readonly redis: Redis | null
  readonly notifier: { readonly name: string }
  readonly storage: Pick<ObjectStore, 'name' | 'assertWritable'>
  readonly metrics: Metrics
  readonly log: Log
  readonly clock: Clock
  /** Parts of the features whose failure degrades the service. */
  readonly parts?: readonly Pick<PartOptions, 'name' | 'effect' | 'ask'>[]
  /** Aborted when the process begins to drain before its end. */
  readonly draining?: AbortSignal | undefined
}

interface Check {
  readonly status: 'ok' | 'failed'
  /** The name of the dependency for people. */
  readonly kind: string
}

/** `GET /health`, `GET /ready` and `GET /metrics`. */
export function healthRoutes(deps: HealthDeps) {
  const parts = createParts(deps)
  const hidden = { detail: { hide: true } }
  return new Elysia({ name: 'health' })
    .get('/health', () => json(200, { status: 'ok' }), hidden)
    .get(
      '/ready',
      async () => {
        const { checks, degraded, canAnswer } = await runChecks(deps, parts)
        const status = statusOf(deps.draining?.aborted === true, canAnswer, degraded)
        const isReady = status === 'ready' || status === 'degraded'
        return json(isReady ? 200 : 503, { status, role: deps.config.role, checks, degraded })
      },
      hidden,
    )
    .get('/metrics', ({ request }) => metricsText(deps, request), hidden)
    .all('/health', readOnly, hidden)
    .all('/ready', readOnly, hidden)
    .all('/metrics', readOnly, hidden)
}

function statusOf(isDraining: boolean, canAnswer: boolean, degraded: readonly Degraded[]) {
  if (isDraining) return 'draining'
  if (!canAnswer) return 'not_ready'
  return degraded.length > 0 ? 'degraded' : 'ready'
}

interface Parts {
  readonly database: Part
  readonly redis: Part | null
  readonly storage: Part
  readonly others: readonly Part[]
}

function createParts({ sql, redis, storage, clock, log, parts = [] }: HealthDeps): Parts {
  const assertStores = cachedFor(DATABASE_CHECK_EVERY_MS, () =>
    assertServerStores(sql).catch((error: unknown) => {
      // That the server is away is found by another check, and is over sooner.
      if (asUnavailable(error)?.code !== 'unavailable') throw withRemedy(error)
    }),
  )
  const assertWritable = cachedFor(STORAGE_CHECK_EVERY_MS, () =>
    storage.assertWritable(AbortSignal.timeout(CHECK_BUDGET_MS)),
  )
  const part = (name: string, effect: string, ask: PartOptions['ask']) =>
    createPart({
      name,
      effect,
      ask,
      budgetMs: CHECK_BUDGET_MS,
      now: () => clock.now(),
      onFailure: (error) => log.warn({ check: name, err: oneLine(error) }, 'degraded'),
    })
  const withoutRedis =
    'Workers find new work a few seconds later, and each process counts rate limits alone. Nothing is lost.'
  const withoutStorage =
    'Media cannot be stored: requests that bring media fail, and are sent again. Everything else works.'
  const withoutWrites =
    'Nothing new can be stored: such requests fail, and are sent again. What is stored can be read.'
  const { database } = sql.options
  return {
    database: part('database', withoutWrites, assertStores),
    redis:
      redis === null ? null : part('redis', withoutRedis, () => assertRedisUsable(redis, database, 'needed')),
    storage: part('storage', withoutStorage, assertWritable),
    others: parts.map(({ name, effect, ask }) => part(name, effect, ask)),
  }
}

/** What the checks found. `canAnswer`: the database works, so requests can be answered. */
interface Outcome {
  readonly checks: Readonly<Record<string, Check>>
  readonly degraded: readonly Degraded[]
  readonly canAnswer: boolean
}

async function runChecks(deps: HealthDeps, parts: Parts): Promise<Outcome> {
  const { servers, sql, notifier } = deps
  const databaseKind = 'url' in servers.database ? 'PostgreSQL' : 'PostgreSQL (embedded)'
  const [server, stores, migrations, redis, storage, others] = await Promise.all([
    check(deps, databaseKind, () => assertServerWritable(sql)),
    parts.database.state(),
    check(deps, `${MIGRATIONS.length} migrations`, () => assertMigrated(sql, MIGRATIONS)),
    parts.redis?.state() ?? null,
    parts.storage.state(),
    Promise.all(parts.others.map((part) => part.state())),
  ])
  // Without the server, that it does not store is no news.
  const full = server.status === 'ok' ? stores : null
  const database = full === null ? server : asCheck(full, databaseKind)
  const redisCheck = parts.redis === null ? null : asCheck(redis, redisKind(servers.redis))
  return {
    checks: {
      database,
      migrations,
      storage: asCheck(storage, STORAGE_KINDS[deps.storage.name]),
      ...(redisCheck === null ? {} : { redis: redisCheck }),
      // The notifier has no connection of its own to ask: it is as well as the server that it sends through.
      notifier: { status: (redisCheck ?? server).status, kind: notifier.name },
    },
    degraded: [full, redis, storage, ...others].filter((part) => part !== null),
    canAnswer: server.status === 'ok' && migrations.status === 'ok',
  }
}

const asCheck = (degraded: Degraded | null, kind: string): Check => ({
  status: degraded === null ? 'ok' : 'failed',
  kind,
})

const STORAGE_KINDS = { folder: 'folder', s3: 'S3' } as const

function redisKind(url: string | null): string {
  return url?.startsWith('redis+unix:') ? 'Redis (embedded)' : 'Redis'
}

/** The reason of a failure is only logged, because it may name hosts and users. */
async function check({ log }: HealthDeps, kind: string, ask: () => PromiseLike<unknown>): Promise<Check> {
  try {
    await withTimeout(ask(), CHECK_BUDGET_MS, () => new Error(`no answer within ${CHECK_BUDGET_MS} ms`))
    return { status: 'ok', kind }
  } catch (error) {
    log.warn({ check: kind, err: oneLine(error) }, 'not ready')
    return { status: 'failed', kind }
  }
}

/** The merged registries of this thread and of the worker threads. */
async function metricsText({ metrics }: HealthDeps, request: Request): Promise<Response> {
  const own = await metrics.registry.getMetricsAsJSON()
  const others = await Promise.all(metrics.sources.map((source) => source()))
  const text = await AggregatorRegistry.aggregate([own, ...others.flat()]).metrics()
  return textResponse(request, text, {
    status: 200,
    headers: { 'content-type': metrics.registry.contentType },
  })
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })
}
