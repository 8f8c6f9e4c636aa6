/**
 * Search over what was said on every channel.
 *
 * The same rules of access hold as in the lists: of recordings by their folders, of conversations by their application. Searches share a few
 * places, in turns by organization, and each statement has a time limit. So searches of one organization do not delay those of another.
 */

import type { Conversations } from '../agents/reads/service.ts'
import type { Deps } from '../container.ts'
import type { Folders, Viewer } from '../folders/service.ts'
import type { Channel } from '../insight/model.ts'
import { createFairQueue } from '../platform/concurrency/fair-queue.ts'
import type { Tx } from '../platform/db/pool.ts'
import { errorCode } from '../platform/db/sqlstate.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import { invalid } from '../platform/validation/json.ts'
import { corrected, type Query } from './correction.ts'
import { RANKED } from './model.ts'

import { anyOf, marked, type ParsedQuery, type SearchText, searchTextOf, withPrefix } from './query.rules.ts'
import { type Shown, showPassages } from './results.ts'
import * as store from './search.store.ts'
import { enoughWeeks, FIRST_WEEKS, reaches, weekLabels } from './weeks.rules.ts'

export type Search = ReturnType<typeof createSearch>

export interface SearchDeps extends Pick<Deps, 'sql' | 'clock'> {
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

export interface SearchRequest {
  readonly query: string
  readonly channel?: Channel | undefined
  readonly personId?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit: number
  readonly after: After | null
}

/** A result, and the time to which ages were counted on its page. */
type After = readonly [microseconds: number, score: string, id: number, isCorrected: number]

/** A passage with its place in the order. */
export interface Result extends Shown {
  readonly score: number
  readonly after: After
}

export interface Results {
  /** Best first, one more than the limit. */
  readonly rows: readonly Result[]
  readonly matches: number
  readonly hasMoreMatches: boolean
  readonly isCorrected: boolean
}

const PLACES = 3
/** Searches of one organization, waiting and running. */
const MAX_OF_ORGANIZATION = 30
const STATEMENT_MS = 5_000
/** Matches among which those that the caller may see are looked for. Null: all. */
const ENOUGH = 4_000
const EXAMINED = [ENOUGH, 40_000, null]

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

  return {
    assertWords: (query: string): void => void textOf(query),

    /** @throws AppError 400 if the query has no word; 503 `search_busy`, `search_timed_out` */
    async search(viewer: Viewer, request: SearchRequest): Promise<Results> {
      const text = textOf(request.query)
      return queue.run(viewer.organizationId, async () => {
        try {
          const work = async (tx: Tx) => {
            // In one round trip.
            const [, parsed] = await Promise.all([
              store.prepareSearch(tx, statementMs),
              store.parseQuery(tx, viewer.organizationId, text),
            ])
            return search({ deps, tx, viewer }, request, text, parsed)
          }
          return await transaction(deps.sql, work, 'read only')
        } catch (error) {
          if (errorCode(error) !== '57014') throw error
          const message = 'The search took too long. Use rarer words, more words, or a shorter period.'
          throw new AppError('search_timed_out', message, { cause: error })
        }
      })
    },
  }
}

/** @throws AppError 400 */
function textOf(query: string): SearchText {
  const text = searchTextOf(query)
  if (!text.hasWords)
    throw invalid([
      { path: 'q', code: 'blank', message: 'must contain a word or a number that is not excluded' },
    ])
  return text
}

const NOTHING: Results = { rows: [], matches: 0, hasMoreMatches: false, isCorrected: false }

/** Where a search runs, and for whom. */
interface Context {
  readonly deps: SearchDeps
  readonly tx: Tx
  readonly viewer: Viewer
}

/** A request with its text and the number of the person. */
interface Asked extends Omit<SearchRequest, 'personId'> {
  readonly text: SearchText
  readonly personId: number | undefined
}

async function search(
  context: Context,
  { personId: person, ...request }: SearchRequest,
  text: SearchText,
  known: readonly ParsedQuery[],
): Promise<Results> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  const parsed = known.filter(({ query }) => query !== '')
  if (parsed.length === 0) return NOTHING
  const personId = person === undefined ? undefined : await store.findPerson(tx, organizationId, person)
  if (personId === null) return NOTHING
  const asked = { ...request, text, personId }
  const asWritten = parsed.map((one) => ({ configuration: one.configuration, query: withPrefix(one) }))
  if (request.after !== null && request.after[3] === 1) {
    const queries = await corrected(tx, organizationId, asWritten)
    return find(context, { asked, queries, isCorrected: true })
  }
  const found = await find(context, { asked, queries: asWritten, isCorrected: false })
  if (found.matches > 0 || request.after !== null) return found
  const others = await corrected(tx, organizationId, asWritten)
  if (others.every(({ query }, index) => query === asWritten[index]?.query)) return found
  const similar = await find(context, { asked, queries: others, isCorrected: true })
  return similar.matches > 0 ? similar : found
}

interface FindQuery {
  readonly asked: Asked
  /** One of each configuration. */
  readonly queries: readonly Query[]
  readonly isCorrected: boolean
}

/** Ranks the matches, and shows those of the page. */
async function find(context: Context, { asked, queries, isCorrected }: FindQuery): Promise<Results> {
  const { deps, tx, viewer } = context
  const query = anyOf(queries.map((one) => one.query))
  const microseconds = asked.after?.[0] ?? deps.clock.now().getTime() * 1_000
  const ranked = await rank(tx, wantedOf(context, asked, query, queries), asked, microseconds)
  const hits = hitsOf(ranked)
  const shown = await showPassages(tx, viewer.organizationId, hits.slice(0, asked.limit), query, asked.query)
  const afterOf = ({ id, score }: Hit): After => [microseconds, score, id, isCorrected ? 1 : 0]
  const matches = ranked[0]?.matches ?? 0
  return {
    rows: rowsOf(hits, shown, asked.limit, afterOf),
    matches: Math.min(matches, RANKED),
    hasMoreMatches: matches > RANKED,
    isCorrected,
  }
}

/** The filter: what the request asks for, of what the viewer may see. */
function wantedOf(
  { deps, tx, viewer }: Context,
  { text, channel, since, until, personId }: Asked,
  query: string,
  queries: readonly Query[],
): store.Wanted {
  const { organizationId } = viewer
  const userId = viewer.kind === 'user' ? viewer.userId : null
  return {
    organizationId,
    query: marked(query, organizationId),
    exact: text.excludes
      ? queries.map((one) => ({ ...one, query: marked(one.query, organizationId) }))
      : null,
    channel,
    since,
    until,
    personId,
    applications: deps.conversations.readableApplications(tx, { organizationId, userId }, undefined),
    visible: deps.folders.visibleRecording(tx, viewer),
  }
}

interface Hit {
  readonly id: number
  readonly score: string
}

/** Without the row that only counts the matches. */
function hitsOf(ranked: readonly store.RankedRow[]): readonly Hit[] {
  return ranked.flatMap(({ id, score }) => (id === null || score === null ? [] : [{ id, score }]))
}

/** The rows of a page, and one more if there is another page. Passages that were deleted meanwhile are left out. */
function rowsOf(
  hits: readonly Hit[],
  shown: ReadonlyMap<number, Shown>,
  limit: number,
  afterOf: (hit: Hit) => After,
): readonly Result[] {
  return hits.flatMap((hit, index) => {
    const row = shown.get(hit.id) ?? (index === limit ? BEYOND : undefined)
    return row === undefined ? [] : [{ ...row, score: Number(hit.score), after: afterOf(hit) }]
  })
}

/** The row after the page. It is not shown. */
const BEYOND: Shown = {
  channel: 'conversation',
  id: '',
  feedbackSourceId: null,
  title: null,
  headline: '',
  occurredAt: new Date(0),
  personId: null,
  startSec: null,
}

async function rank(
  tx: Tx,
  wanted: store.Wanted,
  { after, limit }: Pick<SearchRequest, 'after' | 'limit'>,
  microseconds: number,
): Promise<readonly store.RankedRow[]> {
  const window = {
    ranked: RANKED,
    now: new Date(microseconds / 1_000).toISOString(),
    after: after === null ? null : ([after[1], after[2]] as const),
    limit,
  }
  const ofNewest = await rankNewest(tx, wanted, window)
  if (ofNewest !== null) return ofNewest
  for (const examined of EXAMINED) {
    const rows = await store.rankMatches(tx, wanted, { ...window, weeks: null, examined })
    const { examined: seen = 0, matches = 0 } = rows[0] ?? {}
    if (examined === null || seen < examined || matches > RANKED) return rows
  }
  return []
}

/** The same from the newest weeks alone, if they have enough matches. @returns null if they do not */
async function rankNewest(
  tx: Tx,
  wanted: store.Wanted,
  window: Omit<store.Window, 'weeks' | 'examined'>,
): Promise<readonly store.RankedRow[] | null> {
  const newest = new Date(wanted.until === undefined || wanted.until > window.now ? window.now : wanted.until)
  for (let weeks: number | null = FIRST_WEEKS; weeks !== null; ) {
    const labels = weekLabels(wanted.organizationId, newest, weeks)
    const rows = await store.rankMatches(tx, wanted, { ...window, weeks: labels, examined: ENOUGH })
    const { examined = 0, matches = 0 } = rows[0] ?? {}
    if (matches > RANKED || (examined < ENOUGH && reaches(wanted.since, newest, weeks))) return rows
    weeks = weeks === FIRST_WEEKS ? enoughWeeks(weeks, matches, RANKED + 1) : null
  }
  return null
}
