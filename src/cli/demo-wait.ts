/** Waits until the workers have nothing left to do for the demo. */
import { setTimeout as pause } from 'node:timers/promises'
import { DEFAULT_OPTIONS } from '../actors/options.ts'
import { bringForward, listWaitingMessages } from '../actors/organization-messages.ts'
import { countLiveWorkers } from '../actors/worker-statements.ts'
import type { OwnService } from './demo-service.ts'

const POLL_MS = 500
/** Work that is due later than this is not waited for, such as the next comparison of a few findings. */
const SOON_MS = 45_000
/** Some work is sent a moment after the work that causes it. */
const QUIET_POLLS = 3
const LONGEST_MS = 15 * 60_000
const MOST = 1_000

export async function hasWorkers({ container }: OwnService): Promise<boolean> {
  return (await countLiveWorkers(container.sql, DEFAULT_OPTIONS.leaseMs / 1000)) > 0
}

/** @returns false if there is still work after a quarter of an hour @throws the reason of `signal` */
export async function waitUntilIdle(
  own: OwnService,
  organizationId: string,
  onWaiting: (messages: number) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + LONGEST_MS
  for (let quiet = 0; quiet < QUIET_POLLS; ) {
    if (performance.now() > end) return false
    // Real senders may go on, and are waited for. The demo does not.
    await bringForward(own.container.sql, organizationId, SOON_MS)
    const count = await countSoon(own, organizationId)
    onWaiting(count)
    quiet = count === 0 ? quiet + 1 : 0
    await pause(POLL_MS, undefined, { signal })
  }
  return true
}

async function countSoon({ container }: OwnService, organizationId: string): Promise<number> {
  const slice = { after: null, limit: MOST }
  const waiting = await listWaitingMessages(container.sql, organizationId, undefined, slice)
  const soon = Date.now() + SOON_MS
  return waiting.filter(({ availableAt }) => availableAt.getTime() < soon).length
}

/** Runs a task of the maintenance now, instead of when it is due. */
export async function runNow(
  { features }: OwnService,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const { name, run } of features.maintenance) if (names.includes(name)) await run(signal)
}
