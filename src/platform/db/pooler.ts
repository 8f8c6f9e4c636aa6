/**
 * Connection poolers, such as PgBouncer: `DATABASE_URL` names the pooler, and `DATABASE_DIRECT_URL` the server behind it.
 *
 * A pooler that pools transactions gives each transaction another connection to the server. So nothing may be kept in a connection
 * between transactions: what needs that connects directly (`session` in pool.ts). A pooler also refuses settings of a session. So each
 * kind of pool has a role of its own, whose defaults are the settings. The roles have the name of the user in `DATABASE_URL` and a
 * suffix, and the same password.
 */
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import { addressOf } from './address.ts'
import {
  connect,
  type Database,
  LOCK_TIMEOUT_MS,
  type PoolKind,
  type Query,
  roleOf,
  sessionSettings,
} from './pool.ts'
import { isServerAway } from './sqlstate.ts'

const KINDS: readonly PoolKind[] = [
  { lockTimeoutMs: LOCK_TIMEOUT_MS },
  { redoable: true },
  { readOnly: true },
]

/** What is wrong with a role. */
export interface RoleProblem {
  readonly role: string
  readonly reason: string
  /** Why there is no connection as the role. null: there is one. */
  readonly error: unknown
  /** Statements that mend it. A password in them is to be filled in. */
  readonly statements: readonly string[]
}

/** Compares the roles with what the pools need, through the pooler. Without a pooler there are none. `direct` bypasses it. */
export async function examineRoles(
  database: Database,
  direct: Query,
  statementTimeoutMs: number,
): Promise<readonly RoleProblem[]> {
  if (!('url' in database) || typeof database.directUrl !== 'string') return []
  const user = decodeURIComponent(addressOf(database.url).url.username)
  const problems: RoleProblem[] = []
  for (const kind of KINDS) {
    const role = roleOf(user, kind)
    const settings = sessionSettings({ ...kind, statementTimeoutMs })
    const [known] = await direct`select from pg_roles where rolname = ${role}`
    if (known === undefined) {
      const create = `create role ${quoted(role)} login password '(the password of ${user})' in role ${await ownerOf(direct)};`
      problems.push({
        role,
        reason: 'does not exist',
        error: null,
        statements: [create, ...alter(role, settings)],
      })
      continue
    }
    try {
      const found = await settingsOf(database, kind, Object.keys(settings))
      const wrong = Object.entries(settings).filter(([name, value]) => found.get(name) !== value)
      if (wrong.length === 0) continue
      const reason = `lacks ${wrong.map(([name]) => name).join(', ')}`
      problems.push({ role, reason, error: null, statements: alter(role, Object.fromEntries(wrong)) })
    } catch (error) {
      problems.push({ role, reason: `cannot connect: ${oneLine(error)}`, error, statements: [] })
    }
  }
  return problems
}

/** @throws StartError if a role is missing or lacks settings; the connection error if the pooler is away */
export async function assertRoles(...args: Parameters<typeof examineRoles>): Promise<void> {
  const problems = await examineRoles(...args)
  for (const { error } of problems) if (isServerAway(error)) throw error
  if (problems.length === 0) return
  const [{ role, reason }] = problems as [RoleProblem]
  throw new StartError(
    `DATABASE_URL is a pooler, but the role ${role} ${reason}: run "earshot doctor", which prints what it needs`,
  )
}

/** The role whose rights the others inherit. */
async function ownerOf(direct: Query): Promise<string> {
  const [row] = await direct<{ name: string }[]>`select current_user::text as name`
  return quoted(row?.name ?? '')
}

/** The settings that sessions of a role have. */
async function settingsOf(
  database: Database,
  kind: PoolKind,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const sql = connect(database, { ...kind, max: 1, applicationName: 'earshot-roles' })
  try {
    const rows = await sql<{ name: string; setting: string }[]>`
      select name, setting from pg_settings where name = any(${names as string[]})`
    return new Map(rows.map(({ name, setting }) => [name, setting]))
  } finally {
    await sql.end({ timeout: 0 })
  }
}

const alter = (role: string, settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => `alter role ${quoted(role)} set ${name} = '${value}';`)

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
