/** An identity service on a test database. Several of them act as several processes of the service. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIdentity, type Identity } from '../../src/access/identity/service.ts'
import type { Notifier } from '../../src/actors/types.ts'
import { loadConfig } from '../../src/app/config.ts'
import { wakeBlockedSessions } from '../../src/hear/agents/sessions/credits.ts'
import type { Config } from '../../src/kernel/config.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'

/** Wakes nobody. */
export const SILENT_NOTIFIER: Notifier = { name: 'postgres', notify: () => {}, close: async () => {} }

export interface IdentityProcess {
  readonly identity: Identity
  readonly config: Config
  readonly sql: Sql
  close(): Promise<void>
}

export interface IdentityProcessOptions {
  readonly databaseUrl: string
  readonly env?: Readonly<Record<string, string>>
  readonly clock?: Clock
  /** Shared by processes that verify each other's tokens. Default: a private key. */
  readonly dataDir?: string
}

/** Its pool, caches and keys are private. Only the database is shared. */
export function openIdentity(options: IdentityProcessOptions): IdentityProcess {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'earshot-identity-'))
  const config = loadConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...options.env })
  const log = createLog('silent', 'test')
  const sql = connect({ url: options.databaseUrl }, { max: 4, applicationName: 'test-identity' })
  const clock = options.clock ?? systemClock
  return {
    config,
    sql,
    identity: createIdentity({
      wakeBlocked: wakeBlockedSessions,
      sql,
      listening: sql,
      notifier: SILENT_NOTIFIER,
      config,
      clock,
      newId,
      log,
    }),
    async close() {
      await sql.end({ timeout: 5 })
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
