/**
 * Whether Redis does what the service asks of it. Each command is tried as the service uses it, on keys that expire at once. docs/operating.md
 * lists the commands and the keys.
 */
import { NeedsOperator } from './errors.ts'
import { opened, type Redis } from './redis.ts'

/** One key in each eighth of the slots of a cluster: a node that has only a part of the slots refuses some of them. */
const PROBES = ['1', '13', '0', '12', '3', '11', '2', '10'].map((name) => `earshot:ready:${name}`)
const PROBE_LIFETIME_MS = 10_000
/** As the counters of rate limits. */
const COUNTER = 'earshot:limit:ready'
const SCRIPT = `return redis.call('get', KEYS[1])`
const SCRIPT_HASH = new Bun.CryptoHasher('sha1').update(SCRIPT).digest('hex')
const [GROUP, CONSUMER] = ['ready', 'ready']

/** A command with its subcommand, and its arguments. */
type Trial = readonly [command: string, ...args: (string | number)[]]

/** The service goes on without them. */
const OPTIONAL = ['PING', 'INFO', 'XINFO GROUPS', 'XINFO CONSUMERS', 'XGROUP DELCONSUMER']

/** `stream` is named as the streams that wake workers. */
const trials = (stream: string): readonly Trial[] => [
  ['PING'],
  ['INFO', 'server'],
  ...PROBES.map((key) => ['SET', key, '1', 'PX', PROBE_LIFETIME_MS] as const),
  ['INCRBY', COUNTER, 1],
  ['EXPIRE', COUNTER, PROBE_LIFETIME_MS / 1_000],
  ['PTTL', COUNTER],
  ['GET', COUNTER],
  ['EVALSHA', SCRIPT_HASH, 1, COUNTER],
  ['EVAL', SCRIPT, 1, COUNTER],
  ['XGROUP CREATE', stream, GROUP, '0', 'MKSTREAM'],
  ['XADD', stream, 'MAXLEN', '~', 10, '*', 'key', ''],
  ['EXPIRE', stream, PROBE_LIFETIME_MS / 1_000],
  ['XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', 1, 'NOACK', 'STREAMS', stream, '>'],
  ['XINFO GROUPS', stream],
  ['XINFO CONSUMERS', stream, GROUP],
  ['XGROUP DELCONSUMER', stream, GROUP, CONSUMER],
]

/** The group is there, the script is not yet known, an earlier command was refused or the stream has expired meanwhile. */
const EXPECTED =
  /^(?:BUSYGROUP|NOSCRIPT|NOGROUP|EXECABORT .*previous errors)|no such key|requires the key to exist|user executing the script/
const REFUSED_KEY = /^NOPERM .*\bkeys?\b/
const REFUSED_COMMAND = /\bNOPERM |unknown command|EXEC without MULTI/

/**
 * @param database whose name begins the names of the streams
 * @param what `needed`: without what the service does not miss
 * @throws NeedsOperator with the remedy, or the error of the connection
 */
export async function assertRedisUsable(
  redis: Redis,
  database: string,
  what: 'needed' | 'all' = 'all',
): Promise<void> {
  await opened(redis)
  const tried = trials(`${database}:actors:ready`).filter(
    ([command]) => what === 'all' || !OPTIONAL.includes(command),
  )
  const pipeline = redis.pipeline()
  for (const [command, ...args] of tried) {
    const [name = '', ...subcommand] = command.split(' ')
    pipeline.call(name, ...subcommand, ...args)
  }
  const results = (await pipeline.exec()) ?? []
  const failures = results.flatMap(([error], index) =>
    error === null ? [] : [{ command: tried[index]?.[0] ?? '', error }],
  )
  const error = await redis.multi().get(COUNTER).exec().then(errorOfTransaction, asError)
  if (error !== null) failures.push({ command: 'MULTI and EXEC', error })
  const reason = reasonOf(failures.filter(({ error }) => !EXPECTED.test(error.message)))
  if (reason !== null) throw reason
}

/** Without the right to EXEC, the transaction has no results. */
function errorOfTransaction(results: [Error | null, unknown][] | null): Error | null {
  if (results === null || results.length !== 1) return new Error('EXEC without MULTI')
  return results[0]?.[0] ?? null
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

function reasonOf(failures: readonly { readonly command: string; readonly error: Error }[]): Error | null {
  const hidden = failures.filter(({ error }) => REFUSED_KEY.test(error.message))
  const refused = failures.filter(
    ({ error }) => REFUSED_COMMAND.test(error.message) && !REFUSED_KEY.test(error.message),
  )
  const other = failures.find((failure) => !hidden.includes(failure) && !refused.includes(failure))
  if (other !== undefined) return withRemedy(other.error)
  const named = (some: typeof failures) => [...new Set(some.map(({ command }) => command))].join(', ')
  const lacking = [
    ...(refused.length === 0
      ? []
      : [`The user in REDIS_URL may not run ${named(refused)}. Allow it, for example by ACL SETUSER.`]),
    ...(hidden.length === 0 ? [] : [LACKS_KEYS]),
  ]
  return lacking.length === 0 ? null : new NeedsOperator(lacking.join(' '))
}

const LACKS_KEYS =
  'The user in REDIS_URL may not use the keys of the service. Allow `~earshot:*` and `~NAME:actors:*`, with the name of the database.'

/** What an operator does, by the first word of the answer. */
const REMEDIES: Readonly<Record<string, string>> = {
  OOM: 'Redis has reached its maxmemory and refuses writes. Raise maxmemory, or remove what else is stored in it.',
  READONLY: 'Redis is a replica and refuses writes. Name the primary server in REDIS_URL.',
  MISCONF:
    'Redis cannot save its data and refuses writes. Free space on its disk, or switch its snapshots off.',
  NOAUTH: 'Redis requires a password. Write it into REDIS_URL.',
  WRONGPASS: 'Redis refuses the user name or the password in REDIS_URL. Correct them.',
}

/** What the client says of a command while there is no connection. */
const NOT_SENT = /^(?:Stream isn't writeable|Connection is closed|Command timed out|Socket timeout)/

const AWAY = 'Redis cannot be reached. Start it, or correct the host and the port in REDIS_URL.'

/** The error with its remedy, if it is of the connection or an answer of Redis that has one. No answer repeats a credential or an address here. */
export function withRemedy(error: Error): Error {
  const word = /^(?:EXECABORT .*\b)?([A-Z]+) /.exec(error.message)?.[1] ?? ''
  const isAway = 'syscall' in error || NOT_SENT.test(error.message)
  const remedy = isAway ? AWAY : Object.hasOwn(REMEDIES, word) ? REMEDIES[word] : undefined
  return remedy === undefined ? error : new NeedsOperator(remedy, { cause: error })
}
