/** What the contract suite asks of every fake recorder. */
import type { RecorderFailure } from '../../../src/calls/meetings/recorder.ts'
import type { RecorderSettings } from '../../../src/calls/meetings/recorders/settings.ts'
import { wav } from '../media.ts'
import type { FakeServer } from './server.ts'

export type Stage = 'waiting_room' | 'recording' | 'processing' | 'ended' | 'ended_empty' | RecorderFailure

export interface Spoken {
  readonly speaker: string | null
  readonly start: number
  readonly end: number
  readonly text: string
  readonly isDraft?: boolean
}

export interface FakeWebhook {
  readonly headers: Headers
  readonly body: Uint8Array
}

export interface WebhookOptions {
  /** Default: the secret of the settings. */
  readonly secret?: string
  readonly at?: Date
}

export interface FakeRecorder {
  readonly server: FakeServer
  readonly settings: RecorderSettings
  /** Another secret of the same form. */
  readonly otherSecret: string
  /** The signature of its webhooks covers the time. */
  readonly signsTime: boolean
  /** The webhook of a bot names the join. */
  readonly namesJoin: boolean
  /** Whether its protocol has drafts in transcripts. */
  readonly hasDrafts: boolean
  /** The request that makes a bot. */
  readonly creation: RegExp
  /** Requests for the state of a bot. */
  readonly reading: RegExp
  /** Ids of all bots that ever were, also deleted ones. */
  botIds(): readonly string[]
  nameOf(botId: string): string | undefined
  move(botId: string, stage: Stage): void
  /** The bot was asked to leave, or was cancelled. */
  isGone(botId: string): boolean
  speak(botId: string, spoken: readonly Spoken[]): void
  /** Recording and transcript are deleted. */
  isDeleted(botId: string): boolean
  webhook(botId: string, options?: WebhookOptions): FakeWebhook
}

/** What all bots have recorded. */
export const RECORDING = wav(2)
