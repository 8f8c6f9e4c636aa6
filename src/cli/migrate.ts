/** `earshot migrate`: the only command that works with an old or missing schema. */
import { MIGRATIONS } from '../../sql/migrations.ts'
import { loadConfig } from '../app/config.ts'
import { migrate } from '../platform/db/migrate.ts'
import { connect } from '../platform/db/pool.ts'
import { openServers } from '../platform/embedded/servers.ts'
import { createLog } from '../platform/observability/log.ts'
import type { Input } from './command.ts'

/** @returns names of the migrations that were applied by this call */
export async function migrateDatabase(env: Input['env']): Promise<readonly string[]> {
  const config = loadConfig({ LOG_LEVEL: 'warn', ...env })
  const servers = await openServers(config, createLog(config.logLevel, 'earshot-cli'), { mayCreate: true })
  const sql = connect(servers.servers.database, {
    max: 1,
    session: true,
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
