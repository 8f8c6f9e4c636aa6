/** When the service cannot be reached, pages ask again until it answers. */
import type { Problem } from './api.ts'

const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 30_000

/** A proxy answers with one of these while the service is away. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** Whether the same request may succeed later without anybody doing something here. */
export const mayPass = ({ code, status }: Problem): boolean => code === 'unreachable' || AWAY.has(status)

/** A longer pause after each failure, spread so that not all pages ask together. It ends at once when the browser has a network again. */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
    const end = () => {
      clearTimeout(timer)
      removeEventListener('online', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, pauseMs)
    addEventListener('online', end)
    signal.addEventListener('abort', end)
  })
}
