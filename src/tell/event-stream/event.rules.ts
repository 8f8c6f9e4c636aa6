/** The text of server-sent events (HTML Standard, section 9.2), and where a client's stream begins. */
import type { ChangeType, StartType } from './model.ts'

/** The stream of an organization, as it is stored. */
export interface StreamState {
  /** Changes where the numbers begin again. */
  readonly generation: string
  readonly lastSeq: number
  /** Events up to this number may be missing. */
  readonly lostSeq: number
}

export interface Change {
  readonly seq: number
  readonly type: ChangeType
  readonly applicationId: string | null
  readonly sessionId: string | null
  readonly signalId: string | null
  readonly feedbackSourceId: number | null
  readonly feedbackRecordId: number | null
  readonly recordingId: string | null
  readonly occurredAt: Date
}

const EVENT_ID = /^(\d{1,15})\.([0-9a-f]{8})$/

export const eventId = (generation: string, seq: number): string => `${seq}.${generation}`

/**
 * Where the stream of a client begins: behind the event that it saw last (`resume`), or at the newest event.
 * @param lastEventId the header `Last-Event-ID`; null or empty if the client saw none
 */
export function startOf(
  { generation, lastSeq, lostSeq }: StreamState,
  lastEventId: string | null,
): { readonly start: StartType | 'resume'; readonly position: number } {
  if (lastEventId === null || lastEventId === '') return { start: 'ready', position: lastSeq }
  const [, number, of] = EVENT_ID.exec(lastEventId) ?? []
  const seq = Number(number)
  // A number beyond the newest one is from before a backup was restored.
  if (of !== generation || seq < lostSeq || seq > lastSeq) return { start: 'reset', position: lastSeq }
  return { start: 'resume', position: seq }
}

/** One event. Its data is one line, because JSON has no line break outside of `\n`. */
function eventText(type: string, id: string, data: object): string {
  return `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

export function startText(type: StartType, generation: string, position: number, now: Date): string {
  const id = eventId(generation, position)
  return eventText(type, id, { id, type, occurredAt: now.toISOString() })
}

export function changeText(generation: string, { seq, type, occurredAt, ...ids }: Change): string {
  const id = eventId(generation, seq)
  const present = Object.entries(ids).filter(([, value]) => value !== null)
  return eventText(type, id, {
    id,
    type,
    occurredAt: occurredAt.toISOString(),
    ...Object.fromEntries(present),
  })
}

/** Tells the client how long to wait before it connects again, in milliseconds. */
export const retryText = (ms: number): string => `retry: ${ms}\n\n`

/** A comment that keeps the connection open. The id makes a client resume behind events that it may not see. */
export const heartbeatText = (generation: string, position: number): string =>
  `: still here\nid: ${eventId(generation, position)}\n\n`
