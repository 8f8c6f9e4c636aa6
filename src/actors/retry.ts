/** After a failed turn: how long to wait, and how to store the error. */
import type { RuntimeOptions } from './options.ts'

const MAX_ERROR_LENGTH = 1_000

/** Milliseconds to wait before the next attempt. They double with each attempt up to the cap and are spread over 50 % to 100 %. */
export function retryDelayMs(
  attempts: number,
  options: Pick<RuntimeOptions, 'retryBaseMs' | 'retryCapMs'>,
  random: () => number,
): number {
  const full = Math.min(options.retryCapMs, options.retryBaseMs * 2 ** Math.min(attempts, 30))
  return Math.round(full * (0.5 + random() / 2))
}

/** The error as it is stored with the message: short text that PostgreSQL accepts. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH).toWellFormed()
}
