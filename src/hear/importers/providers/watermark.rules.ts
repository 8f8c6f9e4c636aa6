/**
 * A cursor for help desks that have none of their own: they list conversations by the moment of their last change. Pure.
 *
 * A pass reads pages until it reaches what an earlier pass has read. Its moments are the help desk's, so its clock does not have to agree
 * with ours. Lists may show a change late. So a pass looks back two minutes, and leaves out what it knows from there.
 */
import type { Item } from './provider.ts'

const LOOK_BACK_SECONDS = 120
/** More of them are read again, which changes nothing. */
const MAX_KNOWN = 1_000

export interface Changed extends Item {
  /** Seconds since 1970. */
  readonly changedAt: number
}

export interface Watermark {
  /** Seconds since 1970: everything before was read. */
  readonly since: number
  /** Keys that were read in the two minutes before `since`. */
  readonly known: readonly string[]
  /** The next page of this pass; null: the first one. */
  readonly next: string | null
  /** The latest change of this pass, and the keys of the two minutes before it. */
  readonly top: number
  readonly recent: readonly string[]
}

export function watermarkOf(cursor: string | null, since: Date): Watermark {
  if (cursor !== null) return JSON.parse(cursor)
  const seconds = Math.floor(since.getTime() / 1000)
  return { since: seconds, known: [], next: null, top: seconds, recent: [] }
}

/** The first moment that a pass looks at. */
export const firstMoment = ({ since }: Watermark) => since - LOOK_BACK_SECONDS

/** The conversations that no earlier pass has read. */
export function unread<C extends Changed>(mark: Watermark, items: readonly C[]): readonly C[] {
  const known = new Set(mark.known)
  // The first pass begins at its moment and does not look back.
  const from = mark.known.length === 0 ? mark.since : firstMoment(mark)
  return items.filter(({ key, changedAt }) => changedAt >= from && !known.has(key))
}

/** The cursor behind a page. @param next the next page of the pass; null: the pass ends here */
export function advanced(mark: Watermark, items: readonly Changed[], next: string | null): string {
  const top = Math.max(mark.top, ...items.map(({ changedAt }) => changedAt))
  const near = items.filter(({ changedAt }) => changedAt >= top - LOOK_BACK_SECONDS).map(({ key }) => key)
  // Keys of the pass before stay: its moments may be as near.
  const recent = [...new Set([...mark.recent, ...near])].slice(-MAX_KNOWN)
  const after: Watermark =
    next === null ? { since: top, known: recent, next, top, recent } : { ...mark, next, top, recent }
  return JSON.stringify(after)
}
