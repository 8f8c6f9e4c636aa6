/** Stops embedded servers that no process uses any more, after their process was killed. */
import { existsSync } from 'node:fs'
import type { Log } from '../observability/log.ts'
import { findPostgres, postgresFolders, stopPostgres } from './postgres.ts'
import { until } from './processes.ts'
import { endOrphans } from './redis.ts'
import { openSession, type Session } from './session.ts'

/** Longest wait for a server that starts, recovers or stops. */
const CHANGE_BUDGET_MS = 8_000
/** How long the connections of a process that was killed may outlive it. */
const RELEASE_BUDGET_MS = 4_000
const POLL_MS = 50

/** `used`: a process works with the servers and will stop them itself. */
export type Unused = 'none' | 'used' | 'stopped'

/** `dataDir` as its real path. */
export async function stopUnusedServers(dataDir: string, log: Log): Promise<Unused> {
  const folders = postgresFolders(dataDir)
  const deadline = performance.now() + CHANGE_BUDGET_MS
  while (performance.now() < deadline) {
    const found = existsSync(folders.home) ? await findPostgres(folders) : null
    if (found === null) {
      await endOrphans(dataDir, null)
      return 'none'
    }
    const session = found === 'changing' ? null : await openSession(found.socketDir).catch(() => null)
    if (found === 'changing' || session === null) await Bun.sleep(POLL_MS)
    else return endUnlessUsed(session, () => stopPostgres(folders, found.pid, log), dataDir)
  }
  return 'used'
}

async function endUnlessUsed(session: Session, stop: () => Promise<void>, dataDir: string): Promise<Unused> {
  try {
    const isLast = await until(() => session.isLast(), RELEASE_BUDGET_MS, POLL_MS)
    if (!isLast) return 'used'
    await endOrphans(dataDir, null)
    await stop()
    return 'stopped'
  } finally {
    await session.close()
  }
}
