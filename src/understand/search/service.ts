/**
 * Search over what was said on every channel.
 *
 * The same rules of access hold as in the lists: of recordings by their folders, of conversations by their application. Searches share a few
 * places, in turns by organization, and each statement has a time limit. So searches of one organization do not delay those of another.
 */

import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import type { Channel } from '../../kernel/channel.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Viewer } from '../../kernel/principal.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { errorCode } from '../../platform/db/sqlstate.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import { type FindDeps, NOTHING, type Results, type SearchRequest, search } from './find.ts'
import { MAX_QUESTION, type Match } from './model.ts'
import { parsedOf, type SearchText, searchTextOf, textsOf } from './query.rules.ts'
import { findRelated, placeOf } from './related.ts'
import type { Shown } from './results.ts'
import * as store from './search.store.ts'

export type { Result } from './find.ts'
export type Search = ReturnType<typeof createSearch>

export interface SearchDeps extends Pick<Deps & AnalyzerDeps, 'sql' | 'textWork'>, FindDeps {}

/** A question to `passages`. */
export interface PassagesRequest {
  /** Longer questions are cut after `MAX_QUESTION` characters. */
  readonly q: string
  /** ISO 8601. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly channel?: Channel | undefined
  /** `id` or `uuid` of a person. */
  readonly personId?: string | undefined
  /** Conversations of this agent only. */
  readonly agentKey?: string | undefined
  readonly limit: number
}

export interface Passages {
  /** Best first; of each conversation, record and recording the best one. */
  readonly passages: readonly Shown[]
  readonly match: Match
  /** As in `Results`. */
  readonly complete: boolean
}

const PLACES = 3
/** Searches of one organization, waiting and running. */
const MAX_OF_ORGANIZATION = 30
const STATEMENT_MS = 5_000
/** @param statementMs time limit of each statement of a search */
export function createSearch(deps: SearchDeps, statementMs = STATEMENT_MS) {
  const queue = createFairQueue({
    places: PLACES,
    maxOfCaller: MAX_OF_ORGANIZATION,
    refusal: () =>
      new AppError(
        'search_busy',
        'Too many searches of the organization are running. Try again in a moment.',
      ),
  })

  const run = (viewer: Viewer, request: SearchRequest, relatedOnly = false): Promise<Results> => {
    const text = textOf(request.query)
    const { organizationId } = viewer
    const byWords = async (tx: Tx) => {
      // In one round trip.
      const [, parsed] = await Promise.all([
        store.prepareSearch(tx, statementMs),
        store.parseTexts(tx, organizationId, textsOf(text)),
      ])
      if (parsed.length === 0) return NOTHING
      const queries = parsed.map((one) => parsedOf(text, one.configuration, one.queries))
      const known = queries.filter(({ groups }) => groups.length > 0)
      return search({ deps, tx, viewer }, request, known, relatedOnly)
    }
    return queue.run(organizationId, async () => {
      try {
        const found = await transaction(deps.sql, byWords, 'read only')
        if (!('any' in found)) return found
        // No connection waits for the text process.
        const place = await placeOf(deps.textWork, request.query)
        const related = async (tx: Tx) => {
          await store.prepareSearch(tx, statementMs)
          // What was indexed again meanwhile has other passages.
          const ids = found.any.map(({ id }) => id)
          const isPresent = (await store.countPassages(tx, organizationId, ids)) === ids.length
          const unmatched = isPresent ? found : await byWords(tx)
          return 'any' in unmatched ? findRelated({ deps, tx, viewer }, unmatched, place) : unmatched
        }
        return await transaction(deps.sql, related, 'read only')
      } catch (error) {
        if (errorCode(error) !== '57014') throw error
        const message = 'The search took too long. Use rarer words, more words, or a shorter period.'
        throw new AppError('search_timed_out', message, { cause: error })
      }
    })
  }

  return {
    /** @param name what the caller calls the query @throws AppError 400 */
    assertWords: (query: string, name: string): void => void textOf(query, name),

    /** @throws AppError 400 if the query has no word; 503 `search_busy`, `search_timed_out` */
    search: async (viewer: Viewer, request: SearchRequest): Promise<Results> => run(viewer, request),

    /**
     * The passages that answer a question best, of those that the viewer may see: those that have all of its words come first, and related ones
     * follow. `match` says how the first were found.
     * @throws AppError 400 if the question has no word; 503 `search_busy`, `search_timed_out`
     */
    async passages(viewer: Viewer, { q, limit, ...filter }: PassagesRequest): Promise<Passages> {
      const query = [...q.slice(0, 2 * MAX_QUESTION)].slice(0, MAX_QUESTION).join('')
      const request = { ...filter, query, limit, after: null }
      const { rows, match, complete } = await run(viewer, request)
      if (match !== 'all' || rows.length >= limit) return { passages: rows.slice(0, limit), match, complete }
      const related = await run(viewer, request, true)
      const known = new Set(rows.map(({ channel, id }) => `${channel} ${id}`))
      const others = related.rows.filter(({ channel, id }) => !known.has(`${channel} ${id}`))
      return {
        passages: [...rows, ...others].slice(0, limit),
        match: rows.length > 0 ? match : related.match,
        complete: complete && related.complete,
      }
    },
  }
}

/** @throws AppError 400 */
function textOf(query: string, name = 'q'): SearchText {
  const text = searchTextOf(query)
  if (text.groups.length === 0)
    throw invalid([
      { path: name, code: 'blank', message: 'must contain a word or a number that is not excluded' },
    ])
  return text
}
