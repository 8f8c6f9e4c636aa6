/**
 * Groups rows into requests of `append`. Pure.
 *
 * Rows of a conversation need not stand together. Their order is kept, so the requests of a conversation are sent one after the other.
 */
import { MAX_EVENTS_PER_REQUEST, MAX_PARTICIPANTS_PER_REQUEST, type Participant } from '../agents/model.ts'
import type { AppendRequest } from '../agents/request-model.ts'
import type { Members, NamedEvent, Part } from './row.rules.ts'

/** Below the limit of a request, because its other members need room, too. */
const MAX_EVENT_BYTES_PER_REQUEST = 1024 * 1024

export interface LinedPart extends Part {
  readonly line: number
}

/** A request whose events know their lines. */
export interface LinedRequest {
  readonly session: string
  readonly members: Members
  readonly participants: readonly Participant[]
  readonly events: readonly NamedEvent[]
  /** The line of each event. */
  readonly lines: readonly number[]
}

interface Draft {
  readonly members: Members
  readonly participants: Map<string, Participant>
  readonly unnamed: Participant[]
  readonly events: NamedEvent[]
  readonly lines: number[]
  bytes: number
}

/** The requests of each conversation, in the order of its rows. */
export function requestsBySession(parts: readonly LinedPart[]): readonly (readonly LinedRequest[])[] {
  const bySession = new Map<string, LinedPart[]>()
  for (const part of parts) {
    const known = bySession.get(part.session)
    if (known === undefined) bySession.set(part.session, [part])
    else known.push(part)
  }
  return [...bySession].map(([session, all]) => requestsOf(session, all))
}

function requestsOf(session: string, parts: readonly LinedPart[]): readonly LinedRequest[] {
  const drafts: Draft[] = []
  for (const part of parts) {
    let draft = drafts.at(-1)
    if (draft === undefined || !joins(draft, part)) {
      draft = newDraft(part.members)
      drafts.push(draft)
    }
    addParticipants(draft, part.participants)
    for (const event of part.events) {
      const bytes = Buffer.byteLength(JSON.stringify(event))
      if (
        draft.events.length === MAX_EVENTS_PER_REQUEST ||
        (draft.events.length > 0 && draft.bytes + bytes > MAX_EVENT_BYTES_PER_REQUEST)
      ) {
        draft = newDraft(part.members)
        drafts.push(draft)
      }
      draft.events.push(event)
      draft.lines.push(part.line)
      draft.bytes += bytes
    }
  }
  return drafts.map(({ members, participants, unnamed, events, lines }) => ({
    session,
    members,
    participants: [...participants.values(), ...unnamed],
    events,
    lines,
  }))
}

const newDraft = (members: Members): Draft => ({
  members,
  participants: new Map(),
  unnamed: [],
  events: [],
  lines: [],
  bytes: 0,
})

/** True where the part fits into the request without changing what other rows say. */
function joins(draft: Draft, { members, participants }: LinedPart): boolean {
  const hasMembers = [members, draft.members].some((one) =>
    Object.values(one).some((value) => value !== undefined),
  )
  const room = MAX_PARTICIPANTS_PER_REQUEST - draft.participants.size - draft.unnamed.length
  return (
    !hasMembers &&
    participants.length <= room &&
    participants.every((one) => !contradicts(draft.participants.get(one.externalId ?? ''), one))
  )
}

/** A request that names a participant twice with different values is refused. */
function contradicts(known: Participant | undefined, given: Participant): boolean {
  return Object.entries(given).some(([name, value]) => {
    const present = known?.[name as keyof Participant]
    return present !== undefined && present !== value
  })
}

function addParticipants(draft: Draft, participants: readonly Participant[]): void {
  for (const one of participants) {
    if (one.externalId === undefined) draft.unnamed.push(one)
    else
      draft.participants.set(one.externalId, {
        ...draft.participants.get(one.externalId),
        ...one,
      })
  }
}

/** What conversations have that do not say it. */
export interface Defaults {
  readonly agentKey: string
  readonly status: AppendRequest['status']
  readonly environment: string | undefined
  /** Other members of every request. */
  readonly members?: Members
}

/** The body of a request. */
export function bodyOf(
  { session, members, participants, events }: LinedRequest,
  { agentKey, status, environment, members: common = {} }: Defaults,
): AppendRequest {
  const context = members.context ?? common.context
  const known = environment === undefined ? context : { environment, ...context }
  return {
    agentKey,
    externalSessionId: session,
    ...common,
    ...members,
    ...(known === undefined ? {} : { context: known }),
    ...(status === undefined ? {} : { status: members.status ?? status }),
    ...(participants.length === 0 ? {} : { participants: [...participants] }),
    events: [...events],
  }
}

/** The request without the events of one line. Null: nothing is left. */
export function withoutLine(request: LinedRequest, line: number): LinedRequest | null {
  const kept = request.lines.flatMap((one, index) => (one === line ? [] : [index]))
  if (kept.length === 0) return null
  return {
    ...request,
    events: kept.map((index) => request.events[index] as NamedEvent),
    lines: kept.map((index) => request.lines[index] as number),
  }
}
