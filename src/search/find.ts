/** Finds the passages that a request asks for, among those that the viewer may see: by all words, by similar ones, by any of them. */
import type { Conversations } from '../agents/reads/service.ts'
import type { Folders, Viewer } from '../folders/service.ts'
import type { Channel } from '../insight/model.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/pool.ts'
import {
  candidateQueries,
  countsOf,
  sizesOf,
  type Unit,
  type Units,
  unitsOf,
  type Weighted,
  weighed,
} from './any.rules.ts'
import { countPassages } from './any.store.ts'
import { corrected } from './correction.ts'
import { type Match, RANKED } from './model.ts'
import { anyOf, marked, type ParsedQuery, queryText } from './query.rules.ts'
import { rank } from './ranking.ts'
import { type Shown, showPassages } from './results.ts'
import * as store from './search.store.ts'

export interface SearchRequest {
  readonly query: string
  readonly channel?: Channel | undefined
  readonly personId?: string | undefined
  /** Conversations of this agent only. */
  readonly agentKey?: string | undefined
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

const NOTHING: Results = { rows: [], matches: 0, hasMoreMatches: false, isCorrected: false, match: 'all' }

export interface FindDeps {
  readonly clock: Clock
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Where a search runs, and for whom. */
interface Context {
  readonly deps: FindDeps
  readonly tx: Tx
  readonly viewer: Viewer
}

/** A request with the number of the person. */
interface Asked extends Omit<SearchRequest, 'personId'> {
  readonly personId: number | undefined
}

/** In a transaction that only reads. @param parsed the text in each configuration, without those in which it has stop words only */
export async function search(
  context: Context,
  { personId: person, ...request }: SearchRequest,
  parsed: readonly ParsedQuery[],
): Promise<Results> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  if (parsed.length === 0) return NOTHING
  const personId = person === undefined ? undefined : await store.findPerson(tx, organizationId, person)
  if (personId === null) return NOTHING
  const asked = { ...request, personId }
  const way = request.after?.[3] ?? null
  if (way === null || way === 0) {
    const found = await findAll(context, asked, parsed, false)
    if (found.matches > 0 || way === 0) return found
  }
  const similar = way === ANY ? null : await corrected(tx, organizationId, parsed)
  if (similar !== null && way !== CORRECTED + ANY) {
    const found = await findAll(context, asked, similar, true)
    if (found.matches > 0 || way === CORRECTED) return found
  }
  return (await findAny(context, asked, similar ?? parsed, similar !== null)) ?? NOTHING
}

/** What has all of the words. */
function findAll(
  context: Context,
  asked: Asked,
  parsed: readonly ParsedQuery[],
  isCorrected: boolean,
): Promise<Results> {
  const queries = parsed.map((one) => ({ configuration: one.configuration, query: queryText(one) }))
  const excludes = parsed.some(({ excluded }) => excluded.length > 0)
  return find(context, { asked, queries, excludes, isCorrected, any: null })
}

/** @returns null if there are not several words, or no passage has one of them */
async function findAny(
  context: Context,
  asked: Asked,
  parsed: readonly ParsedQuery[],
  isCorrected: boolean,
): Promise<Results | null> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  const all = parsed.map(unitsOf)
  if (all.every(({ wanted }) => wanted.length < 2)) return null
  const units = all.flatMap(({ configuration, wanted }) => wanted.map((query) => ({ configuration, query })))
  const withMark = units.map((unit) => ({ ...unit, query: marked(unit.query, organizationId) }))
  const known = sizesIn(asked.after?.[1], units.length)
  const sizes = known ?? sizesOf(await countPassages(tx, organizationId, withMark))
  const counts = countsOf(sizes)
  const candidates = candidateQueries(all, units, counts)
  if (candidates.length === 0) return null
  const any = { all, sizes, weighted: weighed(withMark, counts) }
  return find(context, { asked, queries: candidates, excludes: true, isCorrected, any })
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
  readonly queries: readonly Unit[]
  /** A passage must fit the query of its own configuration. */
  readonly excludes: boolean
  readonly isCorrected: boolean
  /** Null: a passage has all of the words. */
  readonly any: AnyWords | null
}

/** Ranks the matches, and shows those of the page. */
async function find(
  context: Context,
  { asked, queries, excludes, isCorrected, any }: FindQuery,
): Promise<Results> {
  const { deps, tx, viewer } = context
  const query = anyOf(queries.map((one) => one.query))
  const microseconds = asked.after?.[0] ?? deps.clock.now().getTime() * 1_000
  const wanted = wantedOf(context, asked, query, excludes ? queries : null, any?.weighted ?? null)
  const ranked = await rank(tx, wanted, asked, microseconds)
  const hits = hitsOf(ranked)
  const said = any === null ? query : anyOf(any.all.flatMap((one) => one.wanted))
  const shown = await showPassages(tx, viewer.organizationId, hits.slice(0, asked.limit), said)
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
  { channel, since, until, personId, agentKey }: Asked,
  query: string,
  exact: readonly Unit[] | null,
  units: readonly Weighted[] | null,
): store.Wanted {
  const { organizationId } = viewer
  const userId = viewer.kind === 'user' ? viewer.userId : null
  return {
    organizationId,
    query: marked(query, organizationId),
    units,
    exact: exact?.map((one) => ({ ...one, query: marked(one.query, organizationId) })) ?? null,
    channel,
    since,
    until,
    personId,
    applications: deps.conversations.readableApplications(tx, { organizationId, userId }, agentKey),
    isOfAgent: agentKey !== undefined,
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
  messageId: null,
  field: null,
  text: '',
  feedbackSourceId: null,
  title: null,
  headline: '',
  occurredAt: new Date(0),
  personId: null,
  startSec: null,
}
