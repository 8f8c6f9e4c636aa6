/**
 * What Zendesk's answers mean. Pure.
 *
 * Source: developer.zendesk.com, "Incremental Exports" (cursor-based ticket export) and "Ticket Comments".
 */
import { type Static, Type } from '@sinclair/typebox'
import { toUtc } from '../../../platform/validation/rfc3339.ts'
import { conversationFrom, type HelpDeskMessage } from './messages.rules.ts'
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

/** A ticket is read once for each change. */
export const keyOf = ({ id, updated_at }: Ticket) => `${id}@${updated_at}`

/** Public comments only: internal notes are not part of what the customer and the agent said to each other. */
export function conversationOf(
  place: string,
  ticket: Ticket,
  pages: readonly CommentPage[],
): ImportedConversation | null {
  const users = new Map(pages.flatMap((page) => page.users ?? []).map((user) => [user.id, user]))
  return conversationFrom({
    provider: 'zendesk',
    place,
    id: String(ticket.id),
    entityType: 'ticket',
    status: ENDED.has(ticket.status) ? 'ended' : 'open',
    subject: ticket.subject,
    tags: ticket.tags ?? [],
    messages: pages
      .flatMap(({ comments }) => comments)
      .flatMap((comment) => messageOf(ticket, comment, users)),
  })
}

function messageOf(
  ticket: Ticket,
  comment: Comment,
  users: ReadonlyMap<number, User>,
): readonly HelpDeskMessage[] {
  const { id, author_id, created_at, plain_body, body } = comment
  if (!comment.public || toUtc(created_at) === null) return []
  const user = users.get(author_id ?? 0)
  return [
    {
      id: String(id),
      at: created_at,
      text: plain_body ?? body,
      isCustomer: isFromCustomer(comment, user, ticket),
      // Zendesk's own messages have the author -1.
      author:
        author_id == null || author_id < 1
          ? null
          : { id: String(author_id), name: user?.name, email: user?.email },
    },
  ]
}

/** Without a known author, the requester of the ticket is the customer. */
function isFromCustomer(comment: Comment, author: User | undefined, ticket: Ticket): boolean {
  if (author?.role != null) return author.role === 'end-user'
  return comment.author_id != null && comment.author_id === ticket.requester_id
}
