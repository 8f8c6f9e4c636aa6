/** Tickets of Zendesk: the cursor-based incremental export, and the comments of each ticket. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { checked } from './checked.ts'
import { SourceError } from './http.ts'
import type { Provider } from './provider.ts'
import { CommentPage, conversationOf, keyOf, type Ticket, TicketPage } from './zendesk.rules.ts'

const TICKETS = '/api/v2/incremental/tickets/cursor.json'
/** Zendesk allows ten exports a minute. With pages of a hundred tickets, their comments take longer than six seconds. */
const TICKETS_PER_PAGE = '100'
/** Most tickets have fewer comments. Thirty of the longest fit into an answer. */
const COMMENTS_PER_PAGE = '30'
/** Bytes of a ticket's comments. Later ones are not read: a ticket has at most 5,000 comments, of a few kilobytes each. */
const MAX_COMMENT_BYTES = 16 * 1024 * 1024

const ticketPage = TypeCompiler.Compile(TicketPage)
const commentPage = TypeCompiler.Compile(CommentPage)

export const zendesk: Provider<Ticket & { readonly key: string }> = {
  account: { isRequired: false, isAllowed: true, pattern: null },

  /** An API token belongs to the agent with the e-mail address; without one, the secret is an OAuth token. */
  connect: ({ url, account, secret }) => ({
    url,
    place: new URL(url).host,
    headers: {
      authorization:
        account === null
          ? `Bearer ${secret}`
          : `Basic ${Buffer.from(`${account}/token:${secret}`).toString('base64')}`,
    },
  }),

  async page(http, cursor, since) {
    const begin: Record<string, string> =
      cursor === null ? { start_time: String(Math.floor(since.getTime() / 1000)) } : { cursor }
    const answer = await http.get(TICKETS, { ...begin, per_page: TICKETS_PER_PAGE })
    if (answer === null) throw new SourceError('not_found')
    const { tickets, after_cursor, end_of_stream } = checked(ticketPage, answer.json)
    const next = after_cursor ?? cursor
    // The same page again would be read for ever.
    if (!end_of_stream && next === cursor) throw new SourceError('unexpected_answer')
    const items = tickets.filter(({ status }) => status !== 'deleted')
    return {
      items: items.map((ticket) => ({ ...ticket, key: keyOf(ticket) })),
      cursor: next,
      isLast: end_of_stream,
    }
  },

  async conversation(http, ticket) {
    const pages: CommentPage[] = []
    let after: string | null = null
    let bytes = 0
    do {
      const query: Record<string, string> = { include: 'users', 'page[size]': COMMENTS_PER_PAGE }
      if (after !== null) query['page[after]'] = after
      const answer = await http.get(`/api/v2/tickets/${ticket.id}/comments.json`, query)
      // The ticket was deleted since it was listed.
      if (answer === null) return null
      const page = checked(commentPage, answer.json)
      pages.push(page)
      bytes += answer.bytes
      after = page.meta?.has_more === true ? (page.meta.after_cursor ?? null) : null
    } while (after !== null && bytes < MAX_COMMENT_BYTES)
    return conversationOf(http.place, ticket, pages)
  },
}
