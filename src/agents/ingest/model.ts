/** What the ways to store a request read and write. */
import type { PreparedEvent } from '../events/fingerprint.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from '../model.ts'
import type { StoredEvent } from './event.rules.ts'

export interface SessionKey {
  readonly organizationId: string
  readonly applicationId: string
  readonly externalSessionId: string
}

export interface SessionRow {
  readonly id: string
  readonly status: SessionStatus
  readonly processingStatus: ProcessingStatus
  readonly agentVersion: string | null
  readonly source: { readonly sdk?: string; readonly version?: string } | null
  readonly context: Context | null
  readonly environment: string | null
  readonly participants: readonly Participant[]
  readonly watermark: number
  /** Somebody was erased from it. */
  readonly erased: boolean
}

/** The members of a session that a request writes. */
export type SessionValues = Omit<SessionRow, 'id' | 'watermark' | 'erased'>

export interface StoredEventRow extends StoredEvent {
  readonly externalEventId: string
}

export interface RevisionRow {
  readonly externalEventId: string
  readonly revision: number
  readonly fingerprint: Uint8Array
  readonly settingsVersion: number
}

/** A session and what one request writes into it. */
export interface SessionWrite {
  readonly key: SessionKey
  readonly id: string
  readonly values: SessionValues
  /** False: the session has all of them but the processing status. */
  readonly changesValues: boolean
  /** False: nothing is new to the session's actor, whose word on the processing status stands. */
  readonly hasNews: boolean
}

/** Events of one request for one session. */
export interface EventWrite {
  readonly key: SessionKey
  readonly id: string
  readonly settingsVersion: number
  readonly events: readonly PreparedEvent[]
}

/** What one request needs to see of its session's events. */
export interface EventLookup {
  readonly ids: readonly string[]
  readonly sequences: readonly number[]
}

/** What a request is judged by of its application and organization. */
export interface SeenApplication {
  readonly settingsVersion: number
  readonly chatsEnabled: boolean
  readonly creditsExhausted: boolean
}
