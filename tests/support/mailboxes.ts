/** Actors with messages, and workers without a runtime, for tests of the statements of the actor protocol. */

import { claim } from '../../src/actors/claim-statements.ts'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { beat } from '../../src/actors/worker-statements.ts'
import type { Sql } from '../../src/platform/db/pool.ts'

export const LEASE_MS = 10_000

export const newKey = (): ActorKey => `session:${crypto.randomUUID()}`

export async function actorWithMessages(sql: Sql, count = 1): Promise<ActorKey> {
  const key = newKey()
  for (let i = 0; i < count; i++) await send(sql, [{ key, type: 'tick' }])
  return key
}

export async function liveWorker(sql: Sql): Promise<string> {
  const id = crypto.randomUUID()
  await beat(sql, id)
  return id
}

/** Registers a worker whose lease has run out. */
export async function deadWorker(sql: Sql): Promise<string> {
  const id = await liveWorker(sql)
  await sql`update worker set heartbeat_at = now() - interval '1 minute' where id = ${id}`
  return id
}

/**
 * Ends the leases of all workers, as if that time had passed. After the last process was killed, the next one then takes over at its
 * first sweep.
 */
export async function endLeases(sql: Sql): Promise<void> {
  await sql`update worker set heartbeat_at = now() - interval '1 minute'`
}

export async function claimOne(sql: Sql, worker: string, key: ActorKey) {
  const [held] = await claim(sql, worker, [key])
  if (held === undefined) throw new Error('not claimed')
  return held
}

/** The backend of another transaction that waits for a lock of the backend `pid`. Null: none waits. */
export async function blockedBy(sql: Sql, pid: number): Promise<number | null> {
  const [blocked] = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`
  return blocked?.pid ?? null
}

/** Resolves when another transaction waits for a lock of the backend `pid`. */
export async function waitUntilBlockedBy(sql: Sql, pid: number): Promise<number> {
  for (;;) {
    const blocked = await blockedBy(sql, pid)
    if (blocked !== null) return blocked
  }
}
