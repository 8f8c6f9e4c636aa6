/**
 * The sweep for fairness: finds organizations that wait while this worker is full of the work of others.
 *
 * Workers read wake-ups in the order in which they were sent. A wake-up behind ten thousand of another organization would be
 * read after minutes. So a worker without a free place asks the table which organizations have work, and takes some of each
 * into its queue, where they take turns. It reads a few rows by index, and only while it is full.
 */
import type { Context } from './context.ts'
import type { Dispatcher } from './dispatcher.ts'
import { jittered, pause } from './pause.ts'
import { NO_ORGANIZATION, type Pool } from './types.ts'
import { organizationsWaiting, sweepByOrganization } from './worker-statements.ts'

/** The most organizations in one sweep; the next sweep begins after them. */
const ORGANIZATIONS = 200
/** The largest part of a connection's time that sweeps may use. */
const MAX_LOAD = 0.1

/** Sweeps until the context stops. */
export async function keepSharing(context: Context, dispatcher: Dispatcher): Promise<void> {
  const { stopping, options, log } = context
  let from = NO_ORGANIZATION
  let tookMs = 0
  while (!stopping.aborted) {
    await pause(Math.max(jittered(options.shareMs), tookMs / MAX_LOAD), stopping)
    if (stopping.aborted) return
    const started = performance.now()
    try {
      from = await shareOnce(context, dispatcher, from)
    } catch (error) {
      log.warn({ err: error }, 'sweep by organization failed')
    }
    tookMs = performance.now() - started
  }
}

/** One sweep, beginning with the organization `from`. @returns the organization at which the next sweep begins */
async function shareOnce(context: Context, dispatcher: Dispatcher, from: string): Promise<string> {
  const pools = dispatcher.fullPools()
  if (pools.length === 0) return from
  const waiting = await organizationsWaiting(context.sql, from, ORGANIZATIONS)
  for (const pool of pools) await sharePool(context, dispatcher, pool, waiting)
  return waiting.length < ORGANIZATIONS ? NO_ORGANIZATION : (waiting.at(-1) ?? NO_ORGANIZATION)
}

async function sharePool(
  { sql, worker, options, definitions }: Context,
  dispatcher: Dispatcher,
  pool: Pool,
  waiting: readonly string[],
): Promise<void> {
  const { share, room, isSated } = dispatcher.waitingRoom(pool)
  const organizations = waiting.filter((organization) => !isSated(organization))
  const kinds = [...definitions.values()].filter((one) => one.pool === pool).map(({ kind }) => kind)
  if (room === 0 || organizations.length === 0) return
  const ask = { worker, leaseMs: options.leaseMs, kinds, running: dispatcher.known(), limit: share }
  const due = await sweepByOrganization(sql, organizations, ask)
  for (const { key, seq, organization, state } of due.slice(0, room))
    dispatcher.offer({ key, seq, organization }, state === 'dead')
}
