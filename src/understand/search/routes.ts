/** The operation `GET /v3/rest/search`. */
import { type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import { moment } from '../../http/parameters.ts'
import { toHtml } from './highlight.rules.ts'
import { FoundPassages, RANKED, SearchQuery } from './model.ts'
import type { Result, Search } from './service.ts'

const byScore = keyset('search', ['integer', 'text', 'integer', 'integer'])

export function searchOperations(search: Search): readonly Operation[] {
  return [
    operation({
      id: 'search',
      method: 'GET',
      path: '/v3/rest/search',
      tag: 'Insight',
      summary: 'Search what was said',
      description:
        'Finds passages in messages of conversations, feedback records and transcripts that the caller may see. The best come first: by how ' +
        'near the words stand to each other, by age (half as much after 90 days), and what customers said before what agents answered. ' +
        `The newest ${RANKED.toLocaleString('en')} matches are ranked. If nothing matches, similar words are looked for; then passages with any of the words, in ` +
        'which rare words count more, together with passages that mean the same in other words.',
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'search.listed' },
      query: SearchQuery,
      success: { status: 200, description: 'A page of passages', schema: FoundPassages },
      errors: ['search_busy', 'search_timed_out'],
      async handler({ principal, query }) {
        const { q, channel, person_id: personId, since, until, limit, cursor } = query()
        const found = await search.search(principal, {
          query: q,
          channel,
          personId,
          since: moment('since', since),
          until: moment('until', until),
          limit,
          after: byScore.decode(cursor),
        })
        return ok({
          ...toPage(found.rows, limit, ({ after }) => byScore.encode(after), passage),
          matches: found.matches,
          has_more_matches: found.hasMoreMatches,
          match: found.match,
          complete: found.complete,
          is_corrected: found.isCorrected,
        })
      },
    }),
  ]
}

function passage({
  channel,
  id,
  feedbackSourceId,
  title,
  headline,
  occurredAt,
  personId,
  startSec,
  score,
}: Result) {
  return {
    channel,
    id,
    feedbackSourceId,
    title,
    passage: toHtml(headline),
    occurredAt,
    personId,
    startSec,
    score,
  }
}
