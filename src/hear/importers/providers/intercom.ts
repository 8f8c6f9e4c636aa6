/** Conversations of Intercom: the search by the moment of the last change, and each conversation with its parts. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { checked } from './checked.ts'
import { SourceError } from './http.ts'
import { ConversationPage, IntercomConversation, intercomConversation } from './intercom.rules.ts'
import type { Provider } from './provider.ts'
import { advanced, type Changed, firstMoment, unread, watermarkOf } from './watermark.rules.ts'

/** The version whose answers `intercom.rules.ts` reads. */
const VERSION = '2.14'
const PER_PAGE = 50
/** Searches may compare days only. What is older than the watermark is left out here. */
const DAY_SECONDS = 86_400

const conversationPage = TypeCompiler.Compile(ConversationPage)
const fullConversation = TypeCompiler.Compile(IntercomConversation)

interface Found extends Changed {
  readonly id: string
}

export const intercom: Provider<Found> = {
  account: { isRequired: false, isAllowed: false, pattern: null },

  connect: ({ url, secret }) => ({
    url,
    place: new URL(url).host,
    headers: { authorization: `Bearer ${secret}`, 'intercom-version': VERSION },
  }),

  async page(http, cursor, since) {
    const mark = watermarkOf(cursor, since)
    const answer = await http.post('/conversations/search', {
      query: { field: 'updated_at', operator: '>', value: Math.max(0, firstMoment(mark) - DAY_SECONDS) },
      sort: { field: 'updated_at', order: 'ascending' },
      pagination: { per_page: PER_PAGE, ...(mark.next === null ? {} : { starting_after: mark.next }) },
    })
    if (answer === null) throw new SourceError('not_found')
    const { conversations, pages } = checked(conversationPage, answer.json)
    const next = pages?.next?.starting_after ?? null
    // The same page again would be read for ever.
    if (next !== null && next === mark.next) throw new SourceError('unexpected_answer')
    const found = conversations.map(({ id, updated_at }) => ({
      id,
      key: `${id}@${updated_at}`,
      changedAt: updated_at,
    }))
    return { items: unread(mark, found), cursor: advanced(mark, found, next), isLast: next === null }
  },

  async conversation(http, { id }) {
    const answer = await http.get(`/conversations/${id}`, { display_as: 'plaintext' })
    return answer === null ? null : intercomConversation(http.place, checked(fullConversation, answer.json))
  },
}
