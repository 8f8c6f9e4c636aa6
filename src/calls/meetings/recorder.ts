/**
 * The port to a meeting recorder: a service whose bot joins a meeting and records it (Attendee, Vexa, Recall).
 *
 * A recorder is asked, never believed: its webhook only says when to ask (`verifyNudge`). Every operation may be repeated. All
 * of them throw a RecorderError, or the signal's reason if it is aborted. No error contains a meeting URL, a password, a key,
 * or text of the recorder that could repeat them.
 */

import type { Platform } from './url-parts.rules.ts'

export type RecorderName = 'attendee' | 'vexa' | 'recall' | 'none'

export interface JoinRequest {
  /** UUID of the join. The bot carries it, so a join whose answer was lost is found again. */
  readonly joinId: string
  /** Whole, with its password. */
  readonly meetingUrl: string
  readonly platform: Platform
  /** The name that participants see. */
  readonly botName: string
  /** Null: at once. */
  readonly joinAt: Date | null
  /** Where the recorder sends its webhooks, if it takes one for a single bot. Null: none. */
  readonly nudgeUrl: string | null
}

/** Why a recording failed (error codes of the contract, section 2.4). */
export type RecorderFailure =
  | 'join_timeout'
  | 'waiting_room_timeout'
  | 'meeting_not_found'
  | 'recorder_failed'

interface BotTimes {
  /** When the bot was admitted. Absent before, or if the recorder does not tell. */
  readonly joinedAt?: Date
  /** When the bot left. */
  readonly endedAt?: Date
}

/**
 * What the recorder says about a bot. `scheduled` to `processing` will change. `ended` and `failed` are final. A bot that
 * the recorder does not know is `failed` with `recorder_failed`.
 */
export type BotReport =
  | ({ readonly state: 'scheduled' | 'joining' | 'waiting_room' | 'recording' | 'processing' } & BotTimes)
  /** `hasMedia` false: the bot was there, but nothing was recorded, or it is deleted. */
  | ({ readonly state: 'ended'; readonly hasMedia: boolean } & BotTimes)
  /** `detail` is one sentence of fixed words and the recorder's own code. */
  | ({ readonly state: 'failed'; readonly code: RecorderFailure; readonly detail: string } & BotTimes)

/** Where the recording can be fetched now. The URL is short-lived, and the headers hold a key: ask again instead of storing them. */
export interface RecorderMedia {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Media type if the recorder names one. */
  readonly contentType?: string
}

/** A finished passage of one speaker; drafts are left out. */
export interface Utterance {
  /** The name in the meeting. Null: the recorder did not recognise the speaker. */
  readonly speaker: string | null
  /** Seconds since the recording began, at least 0. */
  readonly startSec: number
  /** At least `startSec`. */
  readonly endSec: number
  readonly text: string
}

/** The bot that a webhook is about: at least one of the two. The ids are claims, so look them up. */
export interface Nudge {
  readonly botId?: string
  readonly joinId?: string
}

export interface Recorder {
  readonly name: RecorderName
  /** A request to join a meeting of another platform fails for good. */
  readonly platforms: readonly Platform[]
  /**
   * Returns the bot that already carries `joinId`, also a terminal one, instead of joining twice. A join that is given up after a
   * retryable error may have left a bot: `find` it and make it leave.
   */
  join(request: JoinRequest, signal: AbortSignal): Promise<{ readonly botId: string }>
  /** The bot that carries `request.joinId`, in any state. */
  find(request: JoinRequest, signal: AbortSignal): Promise<{ readonly botId: string } | null>
  status(botId: string, signal: AbortSignal): Promise<BotReport>
  /**
   * Makes the bot leave, or cancels a scheduled one. A bot that has left already, or is unknown, is no error. Afterwards the recorder may
   * not know a cancelled bot any more (`failed`).
   */
  leave(botId: string, signal: AbortSignal): Promise<void>
  /** Null while there is no recording. */
  media(botId: string, signal: AbortSignal): Promise<RecorderMedia | null>
  /** Null: the recorder made no transcript, or not yet. Ordered by `startSec`. */
  transcript(botId: string, signal: AbortSignal): Promise<readonly Utterance[] | null>
  /** Deletes recording and transcript at the recorder. Repeats and unknown bots are no error. Retryable while the bot still works. */
  deleteData(botId: string, signal: AbortSignal): Promise<void>
  /** Null: the webhook is forged, malformed, too old, or about no bot. Throws nothing. */
  verifyNudge(headers: Headers, rawBody: Uint8Array): Nudge | null
}

/** A failed request. `retryable`: the same request may succeed later. `terminal`: the join has failed with `code`. */
export class RecorderError extends Error {
  override readonly name = 'RecorderError'

  constructor(
    message: string,
    readonly kind: 'retryable' | 'terminal',
    /** The code of the failed join; `recorder_failed` if a retryable error lasts. */
    readonly code: RecorderFailure = 'recorder_failed',
    /** From `Retry-After`; null if the recorder named none. */
    readonly retryAfterSeconds: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

export interface RecorderDeps {
  /** Joins meetings. Every request fails where none is configured. */
  readonly recorder: Recorder
}
