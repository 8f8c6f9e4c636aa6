/**
 * Connections to PostgreSQL.
 *
 * `Database` says where the server is; `connect` opens a pool. int8 is read as a number and refused beyond 2^53,
 * because every int8 of this schema (sequence, revision, mail, epoch) is a safe integer by construction.
 */
import postgres from 'postgres'

export type Sql = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>
/** Either: a statement that does not care whether a transaction is open. */
export type Query = Sql | Tx
export type Json = postgres.JSONValue

/** A PostgreSQL server: by URL, or by the folder of its Unix socket (embedded). */
export type Database =
  | { readonly url: string }
  | { readonly socketDir: string; readonly user: string; readonly database: string }

export interface ConnectOptions {
  readonly max: number
  readonly applicationName: string
  /**
   * True where nobody was promised anything, and what a crash of the server takes back is done over: COMMIT then does
   * not wait for the disk. Transactions stay whole and in order; the newest may be missing after a crash.
   */
  readonly redoable?: boolean
  /** True for a pool that only reads: see `READ_ONLY`. */
  readonly readOnly?: boolean
  /** How long a statement may take; null for one that may take hours, such as a migration. */
  readonly statementTimeoutMs?: number | null
  /** For a connection that listens: see listener.ts. */
  readonly notifications?: {
    onNotification(channel: string, payload: string): void
    onClose(): void
  }
}

export const STATEMENT_TIMEOUT_MS = 30_000
/**
 * The server ends a statement that takes too long and says so. Where it has not said a word so much later, the
 * connection was cut without one (a firewall, a machine that is gone): TCP alone would wait for a quarter of an hour.
 */
const ANSWER_GRACE_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 30_000
const CONNECT_TIMEOUT_SECONDS = 5
/** The pause before connecting again; the driver alone grows it to 20 s, and everything would wait that much longer. */
const MAX_RECONNECT_SECONDS = 1

/**
 * How the server plans what is only read.
 *
 * A list walks an index that has its filter and its order, and looks up by index what belongs to each row. So a page costs what it
 * shows, whatever the table holds. Statistics must not decide otherwise: right after a burst there are none, or those of an empty
 * table, and PostgreSQL then reads and sorts everything. The settings take away what a page never needs: scans of whole tables,
 * sorts in place of an order, joins that read the other side as a whole. Where a statement has nothing to choose, they change
 * nothing: the few rows of a page are sorted all the same.
 *
 * A plan is kept for as long as its connection lives, made for any parameters: to plan each execution anew takes nearly as long as
 * to run it. So a statement must leave nothing to choose, also where it is planned for a table that is empty. Where two indexes of a
 * table would do then, it is written so that only the right one fits (tests/platform/list-plans.test.ts).
 */
const READ_ONLY = {
  default_transaction_read_only: true,
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  max_parallel_workers_per_gather: 0,
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

/**
 * Statements that are sent on a connection for reads behind the one that is under way: none. They wait in the queue of the pool, in
 * which the first to come gets the first connection that is free: a short read is not held up by a long one of somebody else. The
 * driver opens no transactions on such a pool, which reads have no use for: a handle to it is a `Query`.
 */
const READS_BEHIND = 0

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

/** The driver hands the text to `Date` as it is, which takes `0001-01-01 00:00:00+00` for the year 2001. */
const date = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: Date | string) => (value instanceof Date ? value : new Date(value)).toISOString(),
  parse: (text: string) => new Date(text.replace(' ', 'T').replace(/\+00$/, 'Z')),
}

/** Opens a pool; connections are made when first needed. */
export function connect(database: Database, options: ConnectOptions): Sql {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, notifications, readOnly = false } = options
  const common = {
    max: options.max,
    types: { bigint, date },
    onnotice: () => {},
    connection: {
      application_name: options.applicationName,
      TimeZone: 'UTC',
      // A process that was paused in a transaction must not hold its rows for ever.
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      ...(options.redoable ? { synchronous_commit: 'off' } : {}),
      ...(readOnly ? READ_ONLY : {}),
      ...(statementTimeoutMs === null ? {} : { statement_timeout: statementTimeoutMs }),
    },
    // Statement names are per connection and cost one parse each; every statement here is static text.
    prepare: true,
    ...(readOnly ? { max_pipeline: READS_BEHIND } : {}),
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    answer_timeout: statementTimeoutMs === null ? null : (statementTimeoutMs + ANSWER_GRACE_MS) / 1_000,
    backoff: (failures: number) =>
      (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, MAX_RECONNECT_SECONDS),
    ...(notifications === undefined
      ? {}
      : {
          onnotify: notifications.onNotification,
          onclose: notifications.onClose,
          // The driver replaces old connections: of one that listens, that would lose what is said meanwhile.
          max_lifetime: null,
        }),
  }
  if ('url' in database) return postgres(database.url, common)
  return postgres({
    ...common,
    host: database.socketDir,
    user: database.user,
    database: database.database,
    port: 5432,
  })
}
