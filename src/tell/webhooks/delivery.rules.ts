/**
 * What follows from an attempt to deliver an event (Standard Webhooks 1.0, "Operational considerations"). Pure.
 */

/** Seconds before each retry. The first is the pause in which later events wait. */
export const RETRY_SECONDS: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]

/** Pauses from here on are lengthened by up to a tenth, so that the retries of an outage do not arrive together. */
const SPREAD_FROM_SECONDS = 300
const SPREAD = 0.1

/** The longest pause that a receiver may ask for. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60
/** The longest time for which one answer may hold up the other events of the subscription. */
const MAX_PAUSE_SECONDS = 60 * 60

/** Statuses whose `Retry-After` is obeyed. */
const SLOWS_DOWN = new Set([429, 502, 503, 504])

export const GONE = 410

export type DeliveryStatus = 'pending' | 'retrying' | 'delivered' | 'failed'
export type Ordering = 'relaxed' | 'strict'

/** The answer to an attempt. */
export interface Answer {
  /** null: there was no answer. */
  readonly status: number | null
  /** From `Retry-After`; null: the receiver named none. */
  readonly retryAfterSeconds: number | null
}

export interface Verdict {
  readonly status: DeliveryStatus
  /** Until the next attempt; null: there is none. */
  readonly delaySeconds: number | null
  /** For how long the subscription sends nothing; null: it goes on. */
  readonly pauseSeconds: number | null
}

export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

export interface Schedule {
  readonly retrySeconds: readonly number[]
  readonly ordering: Ordering
  /** From 0 to 1: how much a long pause is lengthened. */
  readonly chance: number
}

/** @param attempts automatic attempts so far, with the one that is judged */
export function verdictOf(
  attempts: number,
  { status, retryAfterSeconds }: Answer,
  { retrySeconds, ordering, chance }: Schedule,
): Verdict {
  if (isSuccess(status)) return { status: 'delivered', delaySeconds: null, pauseSeconds: null }
  const usual = retrySeconds[attempts - 1]
  const asked = status !== null && SLOWS_DOWN.has(status) ? retryAfterSeconds : null
  const pauseSeconds = asked === null ? null : Math.min(asked, MAX_PAUSE_SECONDS)
  if (status === GONE || usual === undefined) return { status: 'failed', delaySeconds: null, pauseSeconds }
  const spread = usual < SPREAD_FROM_SECONDS ? usual : usual * (1 + SPREAD * chance)
  return {
    status: attempts === 1 || ordering === 'strict' ? 'pending' : 'retrying',
    delaySeconds: Math.max(spread, Math.min(asked ?? 0, MAX_RETRY_AFTER_SECONDS)),
    pauseSeconds,
  }
}

/** The body of a request: the same bytes at every attempt. `data` is JSON text. */
export function bodyOf(type: string, timestamp: string, data: string): string {
  return `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${data}}`
}
