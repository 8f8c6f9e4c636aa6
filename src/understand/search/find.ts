/**
 * Finds the passages that a request asks for, among those that the viewer may see: by all words, by similar ones; and where there are none, those
 * that are related, by any of the words and by meaning.
 */

import type { Folders } from '../../calls/folders/service.ts'
import type { Conversations } from '../../hear/agents/reads/service.ts'
import type { Channel } from '../../kernel/channel.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { candidateQueries, type Unit, unitsOf, type Weighted, weighed } from './any.rules.ts'
import { countPassages } from './any.store.ts'
import { corrected } from './correction.ts'
import { type Placed, packIds, unpackIds } from './meaning.rules.ts'
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
 * A result, the time to which ages were counted on its page, and how the page was found (`WAYS`). Related passages are few: the ids of those
 * behind the result stand in place of the score, so further pages keep the order of the first.
 */
type After = readonly [microseconds: number, score: string, id: number, way: number]
/** The sum of these; 0: all words. */
const WAYS = { corrected: 1, any: 2, meaning: 4, notRead: 8 } as const
const isRead = (way: number) => (way & WAYS.notRead) === 0
/** Related passages of a search, on all pages. */
export const RELATED = 100

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
  /** False: the query was not understood, so passages that only mean the same are missing. */
  readonly complete: boolean
}

export interface FindDeps {
  readonly clock: Clock
  readonly folders: Pick<Folders, 'visibleRecording'>
  readonly conversations: Pick<Conversations, 'readableApplications'>
}

/** Where a search runs, and for whom. */
export interface Context {
  readonly deps: FindDeps
  readonly tx: Tx
  readonly viewer: Viewer
}

/** A request with the number of the person. */
export interface Asked extends Omit<SearchRequest, 'personId'> {
  readonly personId: number | undefined
}

/** No passage has all of the words. */
export interface Unmatched {
  readonly asked: Asked
  readonly parsed: readonly ParsedQuery[]
  readonly isCorrected: boolean
  /** Passages with any of the words, best first. */
  readonly any: readonly Placed[]
}

export const NOTHING: Results = {
  rows: [],
  matches: 0,
  hasMoreMatches: false,
  isCorrected: false,
  match: 'all',
  complete: true,
}

/**
 * In a transaction that only reads.
 * @param parsed the text in each configuration, without those in which it has stop words only
 * @param relatedOnly does not look for all of the words
 */
export async function search(
  context: Context,
  { personId: person, ...request }: SearchRequest,
  parsed: readonly ParsedQuery[],
  relatedOnly = false,
): Promise<Results | Unmatched> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  const personId = person === undefined ? undefined : await store.findPerson(tx, organizationId, person)
  if (personId === null) return NOTHING
  const asked = { ...request, personId }
  const [, rest = '', , way = null] = request.after ?? []
  if (way !== null && way >= WAYS.any) {
    const ids = unpackIds(rest, RELATED)
    if (ids === null) return { ...NOTHING, complete: isRead(way) }
    return showRelated(context, { asked, parsed, ids, way })
  }
  if (relatedOnly) return unmatched(context, asked, parsed, false)
  if (way === null || way === 0) {
    const found = await findAll(context, asked, parsed, false)
    if (found.matches > 0 || way === 0) return found
  }
  const similar = await corrected(tx, organizationId, parsed)
  if (similar !== null) {
    const found = await findAll(context, asked, similar, true)
    if (found.matches > 0 || way === WAYS.corrected) return found
  }
  return unmatched(context, asked, similar ?? parsed, similar !== null)
}

async function unmatched(
  context: Context,
  asked: Asked,
  parsed: readonly ParsedQuery[],
  isCorrected: boolean,
): Promise<Unmatched> {
  return { asked, parsed, isCorrected, any: await findAny(context, asked, parsed) }
}

/** What has all of the words. */
async function findAll(
  context: Context,
  asked: Asked,
  parsed: readonly ParsedQuery[],
  isCorrected: boolean,
): Promise<Results> {
  if (parsed.length === 0) return NOTHING
  const { deps, tx, viewer } = context
  const queries = parsed.map((one) => ({ configuration: one.configuration, query: queryText(one) }))
  const excludes = parsed.some(({ excluded }) => excluded.length > 0)
  const microseconds = asked.after?.[0] ?? deps.clock.now().getTime() * 1_000
  const query = anyOf(queries.map((one) => one.query))
  const wanted = wantedOf(context, asked, query, excludes ? queries : null, null)
  const ranked = await rank(tx, wanted, asked, microseconds)
  const hits = hitsOf(ranked)
  const shown = await showPassages(tx, viewer.organizationId, hits.slice(0, asked.limit), query)
  const way = isCorrected ? WAYS.corrected : 0
  const matches = ranked[0]?.matches ?? 0
  return {
    rows: rowsOf(hits, shown, asked.limit, ({ id, score }) => [microseconds, score, id, way]),
    matches: Math.min(matches, RANKED),
    hasMoreMatches: matches > RANKED,
    isCorrected,
    match: 'all',
    complete: true,
  }
}

/** What has any of several words. */
async function findAny(
  context: Context,
  asked: Asked,
  parsed: readonly ParsedQuery[],
): Promise<readonly Placed[]> {
  const { deps, tx, viewer } = context
  const { organizationId } = viewer
  const all = parsed.map(unitsOf)
  if (all.every(({ wanted }) => wanted.length < 2)) return []
  const units = all.flatMap(({ configuration, wanted }) => wanted.map((query) => ({ configuration, query })))
  const withMark = units.map((unit) => ({ ...unit, query: marked(unit.query, organizationId) }))
  const counts = await countPassages(tx, organizationId, withMark)
  const candidates = candidateQueries(all, units, counts)
  if (candidates.length === 0) return []
  const query = anyOf(candidates.map((one) => one.query))
  const wanted = wantedOf(context, asked, query, candidates, weighed(withMark, counts))
  const page = { after: null, limit: RELATED }
  return hitsOf(await rank(tx, wanted, page, deps.clock.now().getTime() * 1_000))
}

export interface RelatedPage {
  readonly asked: Asked
  readonly parsed: readonly ParsedQuery[]
  /** Best first. */
  readonly ids: readonly number[]
  readonly way: number
}

/** The first of these passages that the viewer may see. */
export async function showRelated(
  context: Context,
  { asked, parsed, ids, way }: RelatedPage,
): Promise<Results> {
  const { tx, viewer } = context
  const allowed = await store.visibleAmong(tx, filterOf(context, asked), ids, [])
  const visible = new Set(allowed.map(({ id }) => id))
  const hits = ids.filter((id) => visible.has(id)).map((id, n) => ({ id, score: String(1 / (n + 1)) }))
  const said = anyOf(parsed.flatMap((one) => unitsOf(one).wanted))
  const shown = await showPassages(tx, viewer.organizationId, hits.slice(0, asked.limit), said)
  const places = new Map(ids.map((id, n) => [id, n]))
  const behind = (id: number) => packIds(ids.slice((places.get(id) ?? 0) + 1))
  return {
    rows: rowsOf(hits.slice(0, asked.limit + 1), shown, asked.limit, ({ id }) => [0, behind(id), id, way]),
    matches: hits.length,
    hasMoreMatches: false,
    isCorrected: (way & WAYS.corrected) > 0,
    match: (way & WAYS.meaning) > 0 ? 'meaning' : 'any',
    complete: isRead(way),
  }
}

/** How related passages were found, for `After`. */
export const wayOf = (isCorrected: boolean, match: 'any' | 'meaning', isRead: boolean): number =>
  (isCorrected ? WAYS.corrected : 0) + WAYS[match] + (isRead ? 0 : WAYS.notRead)

/** What the request asks for, of what the viewer may see. */
export function filterOf(
  { deps, tx, viewer }: Context,
  { channel, since, until, personId, agentKey }: Asked,
): store.Filter {
  const { organizationId } = viewer
  const userId = viewer.kind === 'user' ? viewer.userId : null
  return {
    organizationId,
    channel,
    since,
    until,
    personId,
    applications: deps.conversations.readableApplications(tx, { organizationId, userId }, agentKey),
    isOfAgent: agentKey !== undefined,
    visible: deps.folders.visibleRecording(tx, viewer),
  }
}

function wantedOf(
  context: Context,
  asked: Asked,
  query: string,
  exact: readonly Unit[] | null,
  units: readonly Weighted[] | null,
): store.Wanted {
  const { organizationId } = context.viewer
  return {
    ...filterOf(context, asked),
    query: marked(query, organizationId),
    units,
    exact: exact?.map((one) => ({ ...one, query: marked(one.query, organizationId) })) ?? null,
  }
}

interface Hit extends Placed {
  readonly score: string
}

/** Without the row that only counts the matches. */
function hitsOf(ranked: readonly store.RankedRow[]): readonly Hit[] {
  return ranked.flatMap(({ id, subject, score }) =>
    id === null || subject === null || score === null ? [] : [{ id, subject, score }],
  )
}

/** The rows of a page, and one more if there is another page. Passages that were deleted meanwhile are left out. */
function rowsOf<H extends Pick<Hit, 'id' | 'score'>>(
  hits: readonly H[],
  shown: ReadonlyMap<number, Shown>,
  limit: number,
  afterOf: (hit: H) => After,
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
