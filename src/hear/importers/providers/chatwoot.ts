/** Conversations of Chatwoot: the list by latest activity, and the messages of each. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { chatwootConversation, type Listed, ListedPage, type Message, MessagePage } from './chatwoot.rules.ts'
import { checked } from './checked.ts'
import { SourceError } from './http.ts'
import type { Provider } from './provider.ts'
import { advanced, type Changed, firstMoment, unread, watermarkOf } from './watermark.rules.ts'

/** A page of messages after an id. */
const MESSAGES_PER_PAGE = 100
/** Bytes of a conversation's messages. Later ones are not read. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

const listedPage = TypeCompiler.Compile(ListedPage)
const messagePage = TypeCompiler.Compile(MessagePage)

export const chatwoot: Provider<Listed & Changed> = {
  account: { isRequired: true, isAllowed: true, pattern: /^[1-9]\d{0,15}$/ },

  connect: ({ url, account, secret }) => ({
    url: `${url}/api/v1/accounts/${account}`,
    place: `${new URL(url).host}:${account}`,
    headers: { api_access_token: secret },
  }),

  /** The latest activity comes first. Conversations that change meanwhile move up, so none is skipped, and the next pass reads them. */
  async page(http, cursor, since) {
    const mark = watermarkOf(cursor, since)
    const page = mark.next ?? '1'
    const query = { status: 'all', assignee_type: 'all', sort_by: 'last_activity_at_desc', page }
    const answer = await http.get('/conversations', query)
    if (answer === null) throw new SourceError('not_found')
    const { payload } = checked(listedPage, answer.json).data
    const listed = payload.map((one) => ({
      ...one,
      key: `${one.id}@${one.last_activity_at}`,
      changedAt: one.last_activity_at,
    }))
    const isLast = listed.length === 0 || listed.some(({ changedAt }) => changedAt < firstMoment(mark))
    const next = isLast ? null : String(Number(page) + 1)
    return { items: unread(mark, listed), cursor: advanced(mark, listed, next), isLast }
  },

  async conversation(http, listed) {
    const messages: Message[] = []
    let [after, bytes, count] = [0, 0, 0]
    do {
      const path = `/conversations/${listed.id}/messages`
      const answer = await http.get(path, { after: String(after) })
      // The conversation was deleted since it was listed.
      if (answer === null) return null
      const behind = after
      const page = checked(messagePage, answer.json).payload.filter(({ id }) => id > behind)
      messages.push(...page)
      after = Math.max(after, ...page.map(({ id }) => id))
      count = page.length
      bytes += answer.bytes
    } while (count >= MESSAGES_PER_PAGE && bytes < MAX_MESSAGE_BYTES)
    return chatwootConversation(http.place, listed, messages)
  },
}
