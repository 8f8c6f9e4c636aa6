/** Joins the pages of the channels to one page. Pure. */
import type { Channel } from '../../../kernel/channel.ts'

/** Entries of one moment stand in this order. */
const ORDER: readonly Channel[] = ['feedback', 'conversation', 'recording']

/** The place of an entry: its time as RFC 3339 text with microseconds, its channel, its id. */
export type Place = readonly [moment: string, channel: Channel, id: string]

/** Negative where `a` comes first: newest first. */
function compare(a: Place, b: Place): number {
  if (a[0] !== b[0]) return a[0] > b[0] ? -1 : 1
  const [rankA, rankB] = [ORDER.indexOf(a[1]), ORDER.indexOf(b[1])]
  return rankA === rankB ? compareIds(a[1], a[2], b[2]) : rankA - rankB
}

function compareIds(channel: Channel, a: string, b: string): number {
  if (channel === 'feedback') return Number(b) - Number(a)
  if (a === b) return 0
  return a > b ? -1 : 1
}

/** Which rows of a channel come after a place, by their time and their id. */
export interface Behind {
  readonly moment: string
  /** Null: with rows of this moment (`includes`), or without them. */
  readonly id: string | null
  readonly includes: boolean
}

export function behind(channel: Channel, after: Place): Behind {
  const [moment, at, id] = after
  if (channel === at) return { moment, id, includes: false }
  return { moment, id: null, includes: ORDER.indexOf(channel) > ORDER.indexOf(at) }
}

export interface ChannelPage<R> {
  readonly rows: readonly R[]
  /** Where the search of the channel ended before the page was full; null: there is no more, or the page is full. */
  readonly end: Place | null
}

/**
 * The first rows of all channels, at most `limit` and one more. Beyond the end of an unfinished search, rows of its channel are
 * unknown, so the page ends there.
 */
export function joinPages<R extends { readonly place: Place }>(
  pages: readonly ChannelPage<R>[],
  limit: number,
): ChannelPage<R> {
  const ends = pages.flatMap(({ end }) => (end === null ? [] : [end])).toSorted(compare)
  const end = ends[0] ?? null
  const rows = pages
    .flatMap((page) => page.rows)
    .filter(({ place }) => end === null || compare(place, end) <= 0)
    .toSorted((a, b) => compare(a.place, b.place))
  return { rows: rows.slice(0, limit + 1), end }
}

const UUID = /^[0-9a-f-]{36}$/
const INTEGER = /^[1-9]\d{0,15}$/

/** The place in a cursor. @returns null if it is none */
export function placeOf(moment: string, channel: string, id: string): Place | null {
  const known = ORDER.find((one) => one === channel)
  if (known === undefined || !(known === 'feedback' ? INTEGER : UUID).test(id)) return null
  return [moment, known, id]
}

/** Where the REST API has the object of an entry. `sourceId`: of a feedback record. */
export function pathOf({
  channel,
  id,
  sourceId,
}: {
  readonly channel: Channel
  readonly id: string
  readonly sourceId: number | null
}): string {
  if (channel === 'recording') return `/v3/rest/recordings/${id}`
  if (channel === 'conversation') return `/v3/rest/agent-conversations/sessions/${id}`
  return `/v3/rest/feedback-sources/${sourceId}/records/${id}`
}
