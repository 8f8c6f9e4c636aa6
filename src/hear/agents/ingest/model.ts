/** The rows that ingestion reads and writes, for all three ways to store a request (see README.md). */
import type { PreparedEvent } from '../events/fingerprint.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from '../model.ts'
import type { StoredEvent, StoredFingerprint } from './event.rules.ts'

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
  /** True where a person was erased from the session. */
  readonly erased: boolean
}

/** The members of a session that a request writes. */
export type SessionValues = Omit<SessionRow, 'id' | 'watermark' | 'erased'>

export interface StoredEventRow extends StoredEvent {
  readonly externalEventId: string
}

export interface RevisionRow extends StoredFingerprint {
  readonly externalEventId: string
  readonly revision: number
}

/** When the first and the last of some events occurred: RFC 3339 in UTC. */
export interface Times {
  readonly first: string
  readonly last: string
}

/** The write of one request into its session's row. */
export interface SessionWrite {
  readonly key: SessionKey
  readonly id: string
  readonly values: SessionValues
  /** False where the session already has all values except perhaps the processing status. */
  readonly changesValues: boolean
  /** False where the session's actor has nothing new to do. Then the processing status that the actor wrote stays. */
  readonly hasNews: boolean
  /** Of the events that the request writes; null: it writes none. */
  readonly times: Times | null
  /** As in `EventWrite`. */
  readonly receivedAt?: string | null
}

/** The events that one request writes into its session. */
export interface EventWrite {
  readonly key: SessionKey
  readonly id: string
  readonly settingsVersion: number
  readonly events: readonly PreparedEvent[]
  /** When the events were received, if they have waited outside of their session. Null: now. */
  readonly receivedAt?: string | null
}

/** Ids and sequences of the stored events that one request must be compared with. */
export interface EventLookup {
  readonly ids: readonly string[]
  readonly sequences: readonly number[]
}

/** The state of the application and the organization that a request is judged by. */
export interface SeenApplication {
  readonly settingsVersion: number
  readonly chatsEnabled: boolean
  readonly creditsExhausted: boolean
}
