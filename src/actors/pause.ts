/** Pauses that a signal can end. */
import { setTimeout as delay } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}

/** Spreads `ms` over 75 % to 125 %, so that workers that started together do not stay in step. */
export function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2)
}
