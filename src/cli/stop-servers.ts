/** `earshot servers stop`. */
import { realpathSync } from 'node:fs'
import { loadConfig } from '../config.ts'
import { stopUnusedServers, type Unused } from '../platform/embedded/unused.ts'
import { createLog } from '../platform/observability/log.ts'
import type { Input } from './command.ts'

/** Ends what is left of a service or a command that was killed. Where the data folder is gone nothing is left. */
export async function stopServers(env: Input['env']): Promise<Unused> {
  const { dataDir, databaseUrl, logLevel } = loadConfig({ LOG_LEVEL: 'warn', ...env })
  if (databaseUrl !== null) return 'none'
  try {
    return await stopUnusedServers(realpathSync(dataDir), createLog(logLevel, 'earshot-cli'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'none'
    throw error
  }
}
