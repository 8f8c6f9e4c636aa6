/** `earshot migrate`: the one command that works with a database whose schema is old or missing. */
import { MIGRATIONS } from '../../sql/migrations.ts'
import { loadConfig } from '../config.ts'
import { migrate } from '../platform/db/migrate.ts'
import { connect } from '../platform/db/pool.ts'
import { openServers } from '../platform/embedded/servers.ts'
import { createLog } from '../platform/observability/log.ts'
import type { Input } from './command.ts'

/** @returns names of the migrations that were applied now */
export async function migrateDatabase(env: Input['env']): Promise<readonly string[]> {
  const config = loadConfig({ LOG_LEVEL: 'warn', ...env })
  const servers = await openServers(config, createLog(config.logLevel, 'earshot-cli'), { mayCreate: true })
  const sql = connect(servers.servers.database, {
    max: 1,
    applicationName: 'earshot-cli',
    statementTimeoutMs: null,
  })
  try {
    const applied = new Set(await migrate(sql, MIGRATIONS))
    return MIGRATIONS.filter(({ number }) => applied.has(number)).map(({ name }) => name)
  } finally {
    await sql.end({ timeout: 5 })
    await servers.stop()
  }
}
