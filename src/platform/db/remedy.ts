/** What an operator does about an error of the database. Pure. No message names a host, a role or a database. */
import { NeedsOperator } from '../errors.ts'
import { errorCode } from './sqlstate.ts'

const CREDENTIALS =
  'PostgreSQL refuses the role or the password in DATABASE_URL. Correct them, or admit the role in pg_hba.conf.'
const AWAY = 'PostgreSQL cannot be reached. Start it, or correct the host and the port in DATABASE_URL.'
const RIGHTS =
  'The role in DATABASE_URL lacks rights. Make it the owner of the tables, or name the role that ran the migrations.'

const REMEDIES: Readonly<Record<string, string>> = {
  '28000': CREDENTIALS,
  '28P01': CREDENTIALS,
  '3D000': 'The database in DATABASE_URL does not exist. Create it, or correct its name.',
  '42501': RIGHTS,
  '53100': 'The disk of PostgreSQL is full. Free space on it.',
  '53300': 'PostgreSQL has no free connection. Raise its max_connections, or lower DATABASE_POOL_SIZE.',
  TLS_NOT_OFFERED:
    'PostgreSQL offers no TLS, which sslmode in DATABASE_URL requires. Switch `ssl` on in its settings, or change sslmode.',
  ECONNREFUSED: AWAY,
  EHOSTUNREACH: AWAY,
  ENETUNREACH: AWAY,
  ENOENT: AWAY,
  ETIMEDOUT: AWAY,
  CONNECT_TIMEOUT: AWAY,
  EAI_AGAIN: 'The host in DATABASE_URL has no address. Correct it, or the DNS of this machine.',
  ENOTFOUND: 'The host in DATABASE_URL has no address. Correct it, or the DNS of this machine.',
}

/** The error with its remedy, if there is one. */
export function withRemedy(error: unknown): unknown {
  const code = errorCode(error instanceof AggregateError ? error.errors[0] : error) ?? ''
  // A missing certificate has the same code as a missing socket.
  const isFile = code === 'ENOENT' && (error as { syscall?: string }).syscall !== 'connect'
  const remedy = Object.hasOwn(REMEDIES, code) && !isFile ? REMEDIES[code] : undefined
  return remedy === undefined ? error : new NeedsOperator(remedy, { cause: error })
}
