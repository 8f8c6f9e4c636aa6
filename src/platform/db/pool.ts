/**
 * Connections to PostgreSQL.
 *
 * `Database` is the address of the server. `connect` opens a pool. An int8 is read as a number. A value beyond 2^53 is an error,
 * because every int8 of this schema is a safe integer by construction.
 */

import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import { parseStored } from '../validation/exact-number.rules.ts'
import { addressOf } from './address.ts'
import type { Tls } from './address-tls.ts'
import { isReadOnlyServer } from './sqlstate.ts'

export type Sql = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>
/** For statements that run inside or outside of a transaction. */
export type Query = Sql | Tx
export type Json = postgres.JSONValue

/** A PostgreSQL server: by URL, or by the folder of its Unix socket (embedded). */
export type Database =
  | {
      readonly url: string
      /** If `url` is a connection pooler, such as PgBouncer: the server behind it. See pooler.ts. */
      readonly directUrl?: string | null
      /** False if statements are not prepared, because a pooler runs them on any connection to the server. */
      readonly prepare?: boolean
    }
  | { readonly socketDir: string; readonly user: string; readonly database: string }

export interface ConnectOptions {
  readonly max: number
  readonly applicationName: string
  /**
   * True if no client was told that the data is stored, and lost work is repeated. COMMIT then does not wait for the disk. After a
   * crash of the server the newest transactions may be missing. The others are complete and in order.
   */
  readonly redoable?: boolean
  /** True for a pool that only reads. See `READ_ONLY`. */
  readonly readOnly?: boolean
  /** Time limit of a statement. null for statements that may take hours, such as migrations. */
  readonly statementTimeoutMs?: number | null
  /** Longest wait for a lock. null: as long as a statement may take. */
  readonly lockTimeoutMs?: number | null
  /** True if the connection keeps state between transactions: LISTEN, or locks of its session. It bypasses a pooler. */
  readonly session?: boolean
  /** For a connection that listens. See listener.ts. */
  readonly notifications?: {
    onNotification(channel: string, payload: string): void
    onClose(): void
  }
}

export const STATEMENT_TIMEOUT_MS = 30_000
/**
 * The server ends a statement that takes too long, and reports it. If there is no answer after this additional time, the connection
 * was cut silently (by a firewall, or because the machine is gone). TCP alone would wait for a quarter of an hour.
 */
const ANSWER_GRACE_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 30_000
/** A request that waits longer for a lock is answered with 503. */
export const LOCK_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_SECONDS = 5
/** A connection that was not used for this time is closed. So an idle process holds few, however many a burst has opened. */
const IDLE_SECONDS = 60
/** Longest pause before a reconnection. The driver's default is 20 s, and every request would wait for it. */
const MAX_RECONNECT_SECONDS = 1

/**
 * Planner settings for connections that only read.
 *
 * A list reads an index that has its filter and its order, and finds related rows by index. So the cost of a page depends on the
 * rows that it shows, and not on the size of the table. Without these settings the planner depends on statistics. After a burst of
 * writes the statistics are missing or describe an empty table, and PostgreSQL reads and sorts the whole table. The settings disable
 * what a page never needs: scans of whole tables, sorts instead of an index order, and joins that read a whole table. A statement
 * without an alternative still runs: the few rows of a page are sorted.
 *
 * Each connection plans a statement once, for any parameters, because planning takes nearly as long as the execution. So a statement
 * must leave the planner no choice, even if it is planned while the table is empty. If two indexes fit, the statement is written so
 * that only the right one can be used (tests/platform/list-plans.test.ts).
 */
const READ_ONLY = {
  default_transaction_read_only: 'on',
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

/**
 * Number of reads that the driver sends on a busy connection. With 0 they wait in the queue of the pool, and the first of them gets
 * the first free connection. So a short read does not wait behind a long one. Organizations take turns (fair-connections.ts). The driver opens no transactions on such a pool, so its
 * handle is a `Query`.
 */
const PIPELINED_READS = 0

const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) throw new RangeError(`int8 value ${text} is beyond 2^53`)
    return value
  },
}

/** The driver passes the text to `Date` unchanged, and `Date` reads `0001-01-01 00:00:00+00` as the year 2001. */
const date = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: Date | string) => (value instanceof Date ? value : new Date(value)).toISOString(),
  parse: (text: string) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z')),
}

/** Numbers that a double cannot hold come back as they were stored. */
const json = {
  to: 114,
  from: [114, 3802],
  serialize: (value: unknown) => JSON.stringify(value),
  parse: parseStored,
}

export type PoolKind = Pick<ConnectOptions, 'redoable' | 'readOnly' | 'lockTimeoutMs'>

/** The role of a pool behind a pooler. See pooler.ts. */
export function roleOf(user: string, { redoable = false, readOnly = false }: PoolKind): string {
  if (readOnly) return `${user}_reads`
  return redoable ? `${user}_workers` : `${user}_requests`
}

/** The settings of a pool's sessions, by their names in PostgreSQL. */
export function sessionSettings({
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  redoable = false,
  readOnly = false,
  lockTimeoutMs = null,
}: PoolKind & Pick<ConnectOptions, 'statementTimeoutMs'>): Readonly<Record<string, string>> {
  return {
    TimeZone: 'UTC',
    // A process that was paused in a transaction must not lock its rows forever.
    idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
    ...(redoable ? { synchronous_commit: 'off' } : {}),
    ...(readOnly ? READ_ONLY : {}),
    ...(lockTimeoutMs === null ? {} : { lock_timeout: String(lockTimeoutMs) }),
    // One statement of a request or a turn takes one core, so that a large organization's does not take them all.
    ...(statementTimeoutMs === null
      ? { statement_timeout: '0' }
      : { statement_timeout: String(statementTimeoutMs), max_parallel_workers_per_gather: '0' }),
  }
}

/** Opens a pool. Connections open when they are first needed. */
export function connect(database: Database, options: ConnectOptions): Sql {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, notifications, readOnly = false } = options
  const place = 'url' in database ? placeOf(database, options) : null
  const common = {
    max: options.max,
    types: { bigint, date, json },
    onnotice: () => {},
    connection: {
      application_name: options.applicationName,
      // A pooler refuses settings of a session. The role has them.
      ...(place?.isPooled ? {} : sessionSettings(options)),
    },
    // Each connection parses a named statement once. All statements here are static text.
    prepare: place?.prepare ?? true,
    ...(readOnly ? { max_pipeline: PIPELINED_READS } : { retire: isReadOnlyServer }),
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    answer_timeout: statementTimeoutMs === null ? null : (statementTimeoutMs + ANSWER_GRACE_MS) / 1_000,
    backoff: (failures: number) =>
      (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, MAX_RECONNECT_SECONDS),
    ...(notifications === undefined
      ? { idle_timeout: IDLE_SECONDS }
      : {
          onnotify: notifications.onNotification,
          onclose: notifications.onClose,
          // The driver replaces old connections. A listening connection would lose notifications meanwhile.
          max_lifetime: null,
        }),
  }
  if (place !== null) return postgres(place.url, { ...common, ...place.servers })
  const { socketDir, user, database: name } = database as Extract<Database, { socketDir: string }>
  return postgres({ ...common, host: socketDir, user, database: name, port: 5432 })
}

/** Where a pool connects to, and as whom. */
function placeOf(database: Extract<Database, { url: string }>, options: ConnectOptions) {
  const { directUrl = null, prepare } = database
  const isPooled = directUrl !== null && options.session !== true
  const address = addressOf(isPooled ? database.url : (directUrl ?? database.url))
  const { url, hosts, ports, tls, keepAlive, connectTimeout } = address
  // A pooler may connect to another server at any time, so it decides.
  const attributes = url.searchParams.get('target_session_attrs') ?? (isPooled ? 'any' : 'primary')
  url.searchParams.delete('target_session_attrs')
  if (isPooled) url.username = encodeURIComponent(roleOf(decodeURIComponent(url.username), options))
  return {
    isPooled,
    prepare: directUrl === null || isPooled ? (prepare ?? !isPooled) : true,
    url: url.href,
    servers: {
      // The driver looks for a socket if the host is a text with a slash.
      ...(hosts[0]?.startsWith('/') === true
        ? { host: hosts[0], port: ports[0] as number }
        : { host: [...hosts], port: [...ports] }),
      ...(connectTimeout === null ? {} : { connect_timeout: connectTimeout }),
      ...(keepAlive === null ? {} : { keep_alive: keepAlive }),
      ...tlsOptions(tls),
      ...(attributes === 'any' ? {} : { target_session_attrs: attributes as 'primary' }),
    },
  }
}

/** @throws Error of the file system if a certificate cannot be read */
function tlsOptions({ mode, authority, certificate, key, password }: Tls) {
  if (mode === 'disable') return {}
  if (mode === 'allow' || mode === 'prefer') return { ssl: mode }
  // `require` verifies, too, where there is a certificate to verify with.
  const isVerified = mode !== 'require' || authority !== null
  return {
    ssl: {
      rejectUnauthorized: isVerified,
      ...(authority === null ? {} : { ca: readFileSync(authority) }),
      ...(certificate === null || key === null
        ? {}
        : { cert: readFileSync(certificate), key: readFileSync(key) }),
      ...(password === null ? {} : { passphrase: password }),
      ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    },
  }
}
