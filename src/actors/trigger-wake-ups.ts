/**
 * Wake-ups for messages that a trigger of the database sent.
 *
 * A trigger cannot reach Redis. It notifies the channel of the pool, in the format of the notifier on PostgreSQL, whose workers listen to
 * that channel anyway. Where Redis carries the wake-ups, each process that works passes them on. Several processes pass on
 * the same wake-up; like every wake-up it is a hint, and a lost one costs a sweep interval.
 */
import { listen } from '../platform/db/listener.ts'
import type { Database } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import { channelName, toWakeUps } from './notifier-postgres.ts'
import type { Notifier, Pool } from './types.ts'

/** Pools whose actors get messages from triggers. */
const POOLS_OF_TRIGGERS: readonly Pool[] = ['outbound']

export interface Forwarding {
  close(): Promise<void>
}

/** Call it once per process that works. It logs if it cannot listen, and the sweep does its work. */
export async function forwardTriggerWakeUps(deps: {
  readonly servers: { readonly database: Database }
  readonly notifier: Notifier
  readonly log: Log
}): Promise<Forwarding> {
  const { servers, notifier, log } = deps
  if (notifier.name === 'postgres') return { close: async () => {} }
  try {
    return await listen(servers.database, {
      channels: POOLS_OF_TRIGGERS.map(channelName),
      applicationName: 'earshot-trigger-wake-ups',
      log,
      onNotification: (_, payload) =>
        notifier.notify(toWakeUps(payload).map((hint) => ({ ...hint, type: 'trigger' }))),
    })
  } catch (error) {
    log.warn({ err: error }, 'wake-ups of triggers are not passed on; the sweep finds their messages')
    return { close: async () => {} }
  }
}
