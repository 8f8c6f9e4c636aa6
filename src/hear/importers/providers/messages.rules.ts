/** Turns the messages of a help desk's conversation into a conversation of an application. Pure. */

import { isStorableText } from '../../../platform/validation/json.ts'
import { type Context, MAX_EVENT_BYTES, type Participant, type SessionStatus } from '../../agents/model.ts'
import type { NamedEvent } from '../row.rules.ts'
import type { ImportedConversation } from './provider.ts'

/** What a customer or an agent wrote to the other. */
export interface HelpDeskMessage {
  readonly id: string
  /** RFC 3339. */
  readonly at: string
  readonly text: string | null | undefined
  readonly isCustomer: boolean
  /** Null: unknown, or the help desk itself. */
  readonly author: Author | null
}

interface Author {
  readonly id: string
  readonly name?: string | null | undefined
  readonly email?: string | null | undefined
}

export interface HelpDeskConversation {
  readonly provider: string
  /** Where the id is unique. */
  readonly place: string
  readonly id: string
  /** What the help desk calls a conversation. */
  readonly entityType: string
  readonly status: SessionStatus
  readonly subject: string | null | undefined
  readonly tags: readonly string[]
  /** In the order of the conversation. */
  readonly messages: readonly HelpDeskMessage[]
}

const MAX_NAME = 512
const MAX_TAGS = 50

/** Null: nobody wrote anything. */
export function conversationFrom(said: HelpDeskConversation): ImportedConversation | null {
  const participants = new Map<string, Participant>()
  const events: NamedEvent[] = []
  for (const message of said.messages) {
    const content = textOf(message.text)
    if (content === null) continue
    const participant = participantOf(message)
    if (participant !== null) participants.set(participant.externalId, participant)
    events.push({
      externalEventId: message.id,
      type: message.isCustomer ? 'user_message' : 'assistant_message',
      occurredAt: message.at,
      content,
      ...(participant === null ? {} : { participantExternalId: participant.externalId }),
    })
  }
  if (events.length === 0) return null
  return {
    session: `${said.provider}:${said.place}:${said.id}`,
    status: said.status,
    events,
    participants: [...participants.values()],
    members: { source: { sdk: said.provider }, context: contextOf(said) },
  }
}

function textOf(given: string | null | undefined): string | null {
  // What is longer is refused, however much longer it is.
  const start = (given ?? '').slice(0, MAX_EVENT_BYTES + 1).toWellFormed()
  const text = start.replaceAll('\0', '').replaceAll('&nbsp;', ' ').trim()
  return text === '' || !isStorableText(text) ? null : text
}

function participantOf({ author, isCustomer }: HelpDeskMessage) {
  if (author === null) return null
  const [displayName, email] = [labelOf(author.name), labelOf(author.email)]
  return {
    externalId: author.id,
    ...(displayName === undefined ? {} : { displayName }),
    ...(email === undefined ? {} : { email }),
    boundary: isCustomer ? 'external' : 'internal',
  } as const
}

function contextOf({ provider, entityType, id, subject, tags }: HelpDeskConversation): Context {
  const title = labelOf(subject)
  const known = tags.flatMap((tag) => labelOf(tag) ?? []).slice(0, MAX_TAGS)
  return {
    surface: provider,
    entityType,
    entityId: id,
    properties: {
      ...(title === undefined ? {} : { subject: title }),
      ...(known.length === 0 ? {} : { tags: known }),
    },
  }
}

/** A name as a request takes it; undefined: there is none. */
function labelOf(text: string | null | undefined): string | undefined {
  // Answers may be megabytes long.
  const start = (text ?? '')
    .slice(0, 4 * MAX_NAME)
    .toWellFormed()
    .replaceAll('\0', '')
    .trim()
  const trimmed = [...start].slice(0, MAX_NAME).join('')
  return trimmed === '' || !isStorableText(trimmed) ? undefined : trimmed
}

/** Undefined: no moment that RFC 3339 can write. @param seconds since 1970 */
export function momentOfSeconds(seconds: number): string | undefined {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) || seconds < 0 || seconds > 253_402_300_799
    ? undefined
    : date.toISOString()
}
