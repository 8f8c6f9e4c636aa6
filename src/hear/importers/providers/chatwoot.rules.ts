/**
 * What Chatwoot's answers mean. Pure.
 *
 * Source: chatwoot/chatwoot, swagger/paths/application/conversation, app/finders/{conversation,message}_finder.rb and the jbuilder views.
 */
import { type Static, Type } from '@sinclair/typebox'
import { conversationFrom, type HelpDeskMessage, momentOfSeconds } from './messages.rules.ts'
import type { ImportedConversation } from './provider.ts'

const MaybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Moment = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const Listed = Type.Object({
  id: Id,
  status: Type.String(),
  last_activity_at: Moment,
  labels: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
})
export type Listed = Static<typeof Listed>

export const ListedPage = Type.Object({ data: Type.Object({ payload: Type.Array(Listed) }) })

const Message = Type.Object({
  id: Id,
  content: MaybeText,
  message_type: Type.Integer(),
  private: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  created_at: Moment,
  sender: Type.Optional(
    Type.Union([
      Type.Null(),
      Type.Object({
        id: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
        name: MaybeText,
        email: MaybeText,
        type: MaybeText,
      }),
    ]),
  ),
})
export type Message = Static<typeof Message>

export const MessagePage = Type.Object({ payload: Type.Array(Message) })

const INCOMING = 0
const OUTGOING = 1

/** Incoming and outgoing messages; private notes, activities and templates are left out. */
export function chatwootConversation(
  place: string,
  { id, status, labels }: Listed,
  messages: readonly Message[],
): ImportedConversation | null {
  return conversationFrom({
    provider: 'chatwoot',
    place,
    id: String(id),
    entityType: 'conversation',
    status: status === 'resolved' ? 'ended' : 'open',
    subject: null,
    tags: labels ?? [],
    messages: messages.flatMap(messageOf),
  })
}

function messageOf(message: Message): readonly HelpDeskMessage[] {
  const { id, content, message_type, created_at, sender } = message
  const at = momentOfSeconds(created_at)
  const isShown = message_type === INCOMING || message_type === OUTGOING
  if (at === undefined || !isShown || message.private === true) return []
  const isCustomer = message_type === INCOMING
  // Contacts and agents are numbered apart.
  const author =
    sender?.id == null
      ? null
      : {
          id: `${sender.type ?? (isCustomer ? 'contact' : 'user')}:${sender.id}`,
          name: sender.name,
          email: sender.email,
        }
  return [{ id: String(id), at, text: content, isCustomer, author }]
}
