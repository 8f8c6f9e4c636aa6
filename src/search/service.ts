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
import {
  candidateQueries,
  countsOf,
  sizesOf,
  type Units,
  unitsOf,
  type Weighted,
  weighed,
} from './any.rules.ts'
import { countPassages } from './any.store.ts'
import { corrected, type Query } from './correction.ts'
import { type Match, RANKED } from './model.ts'
import { anyOf, marked, type ParsedQuery, type SearchText, searchTextOf, withPrefix } from './query.rules.ts'
import { rank } from './ranking.ts'
import { type Shown, showPassages } from './results.ts'
import * as store from './search.store.ts'

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

/**
 * A result, the time to which ages were counted on its page, and how the page was found: 1 for similar words, plus 2 for any of the words.
 * The score of the latter is followed by how common each word is, so that the next page weighs them in the same way.
 */
type After = readonly [microseconds: number, score: string, id: number, way: number]
const CORRECTED = 1
const ANY = 2

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
  readonly match: Match
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

const NOTHING: Results = { rows: [], matches: 0, hasMoreMatches: false, isCorrected: false, match: 'all' }

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
  const way = request.after?.[3] ?? null
  const others = () => corrected(tx, organizationId, asWritten)
  if (way === null || way === 0) {
    const found = await find(context, { asked, queries: asWritten, isCorrected: false, any: null })
    if (found.matches > 0 || way === 0) return found
  }
  const similar = way === ANY ? asWritten : await others()
  const isCorrected = similar.some(({ query }, index) => query !== asWritten[index]?.query)
  if (way === CORRECTED || (way === null && isCorrected)) {
    const found = await find(context, { asked, queries: similar, isCorrected: true, any: null })
    if (found.matches > 0 || way === CORRECTED) return found
  }
  return (await findAny(context, asked, similar, isCorrected)) ?? NOTHING
}

/** @returns null if there are not several words, or no passage has one of them */
async function findAny(
  context: Context,
  asked: Asked,
  queries: readonly Query[],
  isCorrected: boolean,
): Promise<Results | null> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  const all = queries.map(unitsOf)
  if (all.every(({ wanted }) => wanted.length < 2)) return null
  const units = all.flatMap(({ configuration, wanted }) => wanted.map((query) => ({ configuration, query })))
  const withMark = units.map((unit) => ({ ...unit, query: marked(unit.query, organizationId) }))
  const known = sizesIn(asked.after?.[1], units.length)
  const sizes = known ?? sizesOf(await countPassages(tx, organizationId, withMark))
  const counts = countsOf(sizes)
  const candidates = candidateQueries(all, units, counts)
  if (candidates.length === 0) return null
  const any = { all, sizes, weighted: weighed(withMark, counts) }
  return find(context, { asked, queries: candidates, isCorrected, any })
}

/** How common each unit was on the first page, by which this page is ordered, too. */
function sizesIn(score: string | undefined, units: number): string | null {
  const sizes = score?.split(';')[1] ?? ''
  return sizes.length === units && /^[0-9a-z]+$/.test(sizes) ? sizes : null
}

interface AnyWords {
  readonly all: readonly Units[]
  readonly sizes: string
  /** With marks. */
  readonly weighted: readonly Weighted[]
}

interface FindQuery {
  readonly asked: Asked
  /** One of each configuration. */
  readonly queries: readonly Query[]
  readonly isCorrected: boolean
  /** Null: a passage has all of the words. */
  readonly any: AnyWords | null
}

/** Ranks the matches, and shows those of the page. */
async function find(context: Context, { asked, queries, isCorrected, any }: FindQuery): Promise<Results> {
  const { deps, tx, viewer } = context
  const query = anyOf(queries.map((one) => one.query))
  const microseconds = asked.after?.[0] ?? deps.clock.now().getTime() * 1_000
  const wanted = wantedOf(context, asked, query, queries, any?.weighted ?? null)
  const ranked = await rank(tx, wanted, asked, microseconds)
  const hits = hitsOf(ranked)
  const said = any === null ? query : anyOf(any.all.flatMap((one) => one.wanted))
  const shown = await showPassages(tx, viewer.organizationId, hits.slice(0, asked.limit), said, asked.query)
  const way = (isCorrected ? CORRECTED : 0) + (any === null ? 0 : ANY)
  const sizes = any === null ? '' : `;${any.sizes}`
  const afterOf = ({ id, score }: Hit): After => [microseconds, `${score}${sizes}`, id, way]
  const matches = ranked[0]?.matches ?? 0
  return {
    rows: rowsOf(hits, shown, asked.limit, afterOf),
    matches: Math.min(matches, RANKED),
    hasMoreMatches: matches > RANKED,
    isCorrected,
    match: any === null ? 'all' : 'any',
  }
}

/** The filter: what the request asks for, of what the viewer may see. */
function wantedOf(
  { deps, tx, viewer }: Context,
  { text, channel, since, until, personId }: Asked,
  query: string,
  queries: readonly Query[],
  units: readonly Weighted[] | null,
): store.Wanted {
  const { organizationId } = viewer
  const userId = viewer.kind === 'user' ? viewer.userId : null
  return {
    organizationId,
    query: marked(query, organizationId),
    units,
    exact:
      text.excludes || units !== null
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
