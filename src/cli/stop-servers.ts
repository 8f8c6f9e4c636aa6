/** `earshot servers stop`. */
import { realpathSync } from 'node:fs'
import { loadConfig } from '../app/config.ts'
import { stopUnusedServers, type Unused } from '../platform/embedded/unused.ts'
import { createLog } from '../platform/observability/log.ts'
import type { Input } from './command.ts'

/** Stops servers that a killed service or command left running. Without a data folder there are none. */
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
