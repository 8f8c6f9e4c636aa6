/**
 * Counts reads of personal content by users and writes them in the background, so that no request waits for it.
 *
 * Reads of the same object by the same user share an entry until the next write, after `WRITE_MS`. A process that is killed loses
 * the reads of that time. Beyond `MAX_PENDING` different reads, which only an unreachable database can cause, further ones are
 * lost, and a warning says how many.
 */

import { objectKindOf, type Read } from '../../kernel/audit-actions.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/observability/log.ts'
import { insertEntries } from './store.ts'

const WRITE_MS = 5_000
const MAX_PENDING = 10_000
/** Rows that one statement inserts. */
const ROWS = 1_000

interface ReadBy {
  readonly organizationId: string
  readonly userId: string
}

export interface ReadLog {
  /** Counts one read. `objectId` is null for a list. */
  add(by: ReadBy, action: Read, objectId: string | null): void
  /** Writes what is pending. Call it before the database connections close. */
  close(): Promise<void>
}

interface Pending extends ReadBy {
  readonly action: Read
  readonly objectId: string | null
  times: number
}

export function createReadLog(
  { sql, log }: { readonly sql: Sql; readonly log: Log },
  writeMs = WRITE_MS,
): ReadLog {
  let pending = new Map<string, Pending>()
  let lost = 0
  let timer: ReturnType<typeof setTimeout> | null = null
  let writing: Promise<void> = Promise.resolve()

  function writeLater(): void {
    timer ??= setTimeout(() => {
      timer = null
      writing = writing.then(write)
    }, writeMs)
    timer.unref()
  }

  async function write(): Promise<void> {
    const batch = [...pending.values()]
    pending = new Map()
    if (lost > 0) log.warn({ lost }, 'reads are missing in the audit log')
    lost = 0
    for (let from = 0; from < batch.length; from += ROWS) {
      const some = batch.slice(from, from + ROWS)
      try {
        await insertEntries(sql, some.map(entryOf))
      } catch (error) {
        log.warn({ err: error }, 'could not write reads to the audit log')
        for (const read of batch.slice(from)) count(read, read.times)
        writeLater()
        return
      }
    }
  }

  function count(read: Omit<Pending, 'times'>, times: number): void {
    const { organizationId, userId, action, objectId } = read
    const key = `${organizationId} ${userId} ${action} ${objectId}`
    const known = pending.get(key)
    if (known !== undefined) known.times += times
    else if (pending.size < MAX_PENDING) pending.set(key, { organizationId, userId, action, objectId, times })
    else lost += times
  }

  return {
    add(by, action, objectId) {
      count({ organizationId: by.organizationId, userId: by.userId, action, objectId }, 1)
      writeLater()
    },
    async close() {
      if (timer !== null) clearTimeout(timer)
      writing = writing.then(write)
      await writing
    },
  }
}

function entryOf({ organizationId, userId, action, objectId, times }: Pending) {
  return {
    id: newId(),
    organizationId,
    principalKind: 'user' as const,
    principalId: userId,
    requestId: null,
    action,
    objectKind: objectKindOf(action),
    objectId,
    details: {},
    times,
  }
}
