/**
 * What Intercom's answers mean. Pure.
 *
 * Source: developers.intercom.com, "Search conversations", "Retrieve a conversation", "Conversation part model", "Rate limiting".
 */
import { type Static, Type } from '@sinclair/typebox'
import { conversationFrom, type HelpDeskMessage, momentOfSeconds } from './messages.rules.ts'
import type { ImportedConversation } from './provider.ts'

const MaybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Moment = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** Part of a path. */
const Id = Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$' })

export const ConversationPage = Type.Object({
  conversations: Type.Array(Type.Object({ id: Id, updated_at: Moment })),
  pages: Type.Optional(
    Type.Union([
      Type.Null(),
      Type.Object({
        next: Type.Optional(Type.Union([Type.Null(), Type.Object({ starting_after: MaybeText })])),
      }),
    ]),
  ),
})

const Author = Type.Object({
  type: Type.String(),
  id: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  name: MaybeText,
  email: MaybeText,
})

export const IntercomConversation = Type.Object({
  id: Id,
  created_at: Moment,
  state: MaybeText,
  title: MaybeText,
  source: Type.Optional(
    Type.Union([
      Type.Null(),
      Type.Object({
        id: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
        body: MaybeText,
        subject: MaybeText,
        author: Type.Optional(Type.Union([Author, Type.Null()])),
      }),
    ]),
  ),
  tags: Type.Optional(
    Type.Union([Type.Null(), Type.Object({ tags: Type.Array(Type.Object({ name: MaybeText })) })]),
  ),
  conversation_parts: Type.Optional(
    Type.Union([
      Type.Null(),
      Type.Object({
        conversation_parts: Type.Array(
          Type.Object({
            id: Type.Union([Type.String({ minLength: 1, maxLength: 100 }), Type.Number()]),
            part_type: Type.String(),
            body: MaybeText,
            created_at: Moment,
            author: Type.Optional(Type.Union([Author, Type.Null()])),
          }),
        ),
      }),
    ]),
  ),
})
export type IntercomConversation = Static<typeof IntercomConversation>

/** Parts that both sides see. Notes are internal; others only report what happened. */
const SHOWN_PARTS = new Set(['comment', 'quick_reply', 'open', 'close'])
const CUSTOMERS = new Set(['user', 'lead', 'contact'])

export function intercomConversation(
  place: string,
  conversation: IntercomConversation,
): ImportedConversation | null {
  const { id, state, title, source, tags } = conversation
  return conversationFrom({
    provider: 'intercom',
    place,
    id,
    entityType: 'conversation',
    status: state === 'closed' ? 'ended' : 'open',
    subject: title ?? source?.subject,
    tags: tags?.tags.flatMap(({ name }) => name ?? []) ?? [],
    messages: messagesOf(conversation),
  })
}

function messagesOf({ id, created_at, source, conversation_parts }: IntercomConversation): HelpDeskMessage[] {
  const parts = conversation_parts?.conversation_parts ?? []
  const first = { id: source?.id ?? `${id}-source`, part_type: 'comment', created_at, ...source }
  return [{ ...first, id: first.id ?? `${id}-source` }, ...parts].flatMap((part) => {
    const at = momentOfSeconds(part.created_at)
    if (at === undefined || !SHOWN_PARTS.has(part.part_type)) return []
    const { author } = part
    return {
      id: String(part.id),
      at,
      text: part.body,
      isCustomer: CUSTOMERS.has(author?.type ?? ''),
      author: author?.id == null ? null : { id: String(author.id), name: author.name, email: author.email },
    }
  })
}
