/**
 * What Zendesk's answers mean. Pure.
 *
 * Source: developer.zendesk.com, "Incremental Exports" (cursor-based ticket export) and "Ticket Comments".
 */
import { type Static, Type } from '@sinclair/typebox'
import type { Participant } from '../../agents/model.ts'
import { isStorableText } from '../../platform/validation/json.ts'
import { toUtc } from '../../platform/validation/rfc3339.ts'
import type { NamedEvent } from '../row.rules.ts'
import type { ImportedConversation } from './provider.ts'

const MaybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const Ticket = Type.Object({
  id: Id,
  status: Type.String(),
  updated_at: Type.String(),
  requester_id: Type.Optional(Type.Union([Id, Type.Null()])),
  subject: MaybeText,
  tags: Type.Optional(Type.Array(Type.String())),
})
export type Ticket = Static<typeof Ticket>

export const TicketPage = Type.Object({
  tickets: Type.Array(Ticket),
  after_cursor: MaybeText,
  end_of_stream: Type.Boolean(),
})

const User = Type.Object({ id: Id, name: MaybeText, email: MaybeText, role: MaybeText })
type User = Static<typeof User>

const Comment = Type.Object({
  id: Id,
  author_id: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  public: Type.Boolean(),
  body: MaybeText,
  plain_body: MaybeText,
  created_at: Type.String(),
})
type Comment = Static<typeof Comment>

export const CommentPage = Type.Object({
  comments: Type.Array(Comment),
  users: Type.Optional(Type.Array(User)),
  meta: Type.Optional(Type.Object({ has_more: Type.Boolean(), after_cursor: MaybeText })),
})
export type CommentPage = Static<typeof CommentPage>

const ENDED = new Set(['solved', 'closed'])
const MAX_NAME = 512
const MAX_TAGS = 50

/** A ticket is read once for each change. */
export const keyOf = ({ id, updated_at }: Ticket) => `${id}@${updated_at}`

/** Public comments only: internal notes are not part of what the customer and the agent said to each other. */
export function conversationOf(
  host: string,
  ticket: Ticket,
  pages: readonly CommentPage[],
): ImportedConversation | null {
  const users = new Map(pages.flatMap((page) => page.users ?? []).map((user) => [user.id, user]))
  const participants = new Map<string, Participant>()
  const events: NamedEvent[] = []
  for (const comment of pages.flatMap(({ comments }) => comments)) {
    const content = textOf(comment)
    if (!comment.public || content === null || toUtc(comment.created_at) === null) continue
    const author = users.get(comment.author_id ?? 0)
    const isCustomer = isFromCustomer(comment, author, ticket)
    const participant = participantOf(comment, author, isCustomer)
    if (participant?.externalId !== undefined) participants.set(participant.externalId, participant)
    events.push({
      externalEventId: String(comment.id),
      type: isCustomer ? 'user_message' : 'assistant_message',
      occurredAt: comment.created_at,
      content,
      ...(participant === null ? {} : { participantExternalId: participant.externalId }),
    })
  }
  if (events.length === 0) return null
  return {
    session: `zendesk:${host}:${ticket.id}`,
    status: ENDED.has(ticket.status) ? 'ended' : 'open',
    events,
    participants: [...participants.values()],
    members: { source: { sdk: 'zendesk' }, context: contextOf(ticket) },
  }
}

function textOf({ plain_body, body }: Comment): string | null {
  const text = (plain_body ?? body ?? '').replaceAll('\0', '').replaceAll('&nbsp;', ' ').trim()
  return text === '' || !isStorableText(text) ? null : text
}

/** Without a known author, the requester of the ticket is the customer. */
function isFromCustomer(comment: Comment, author: User | undefined, ticket: Ticket): boolean {
  if (author?.role != null) return author.role === 'end-user'
  return comment.author_id != null && comment.author_id === ticket.requester_id
}

function participantOf(
  { author_id }: Comment,
  author: User | undefined,
  isCustomer: boolean,
): Participant | null {
  // Zendesk's own messages have the author -1.
  if (author_id == null || author_id < 1) return null
  const [displayName, email] = [label(author?.name), label(author?.email)]
  return {
    externalId: String(author_id),
    ...(displayName === undefined ? {} : { displayName }),
    ...(email === undefined ? {} : { email }),
    boundary: isCustomer ? 'external' : 'internal',
  }
}

function contextOf({ id, subject, tags = [] }: Ticket) {
  const title = label(subject)
  const known = tags.flatMap((tag) => label(tag) ?? []).slice(0, MAX_TAGS)
  return {
    surface: 'zendesk',
    entityType: 'ticket',
    entityId: String(id),
    properties: {
      ...(title === undefined ? {} : { subject: title }),
      ...(known.length === 0 ? {} : { tags: known }),
    },
  }
}

/** A name as a request takes it; undefined: there is none. */
function label(text: string | null | undefined): string | undefined {
  const trimmed = [...(text ?? '').replaceAll('\0', '').trim()].slice(0, MAX_NAME).join('')
  return trimmed === '' || !isStorableText(trimmed) ? undefined : trimmed
}
