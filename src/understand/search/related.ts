/** Related passages, where no passage has all of the words: those with any of them, and those that mean the same, by reciprocal rank. */

import type { TextPlace } from '../../analysis/analyze/builtin/jobs.ts'
import type { TextWork } from '../../analysis/analyze/text-work.ts'
import { mapInSlices } from '../../platform/concurrency/time-slicing.ts'
import { withTimeout } from '../../platform/concurrency/timeout.ts'
import {
  type Context,
  filterOf,
  NOTHING,
  RELATED,
  type Results,
  showRelated,
  type Unmatched,
  wayOf,
} from './find.ts'
import { type Candidate, fused, meaningText, type Near, nearOf, type Placed } from './meaning.rules.ts'
import { meaningKey } from './meaning.ts'
import { candidatesOf } from './near.store.ts'
import { marked, unitText } from './query.rules.ts'
import { visibleAmong } from './search.store.ts'

/** Cells are read, the nearest first, until there are so many candidates. Of a smaller organization, all are read. */
const CELLS = 512
const CANDIDATES = 4_000
/** Near passages that are checked for access in one go, and at most so many times. */
const CHECKED = 300
const ROUNDS = 4
/** Vectors that are compared in one go: about 1 ms. */
const COMPARED = 1_000
/** Beyond this, the search goes on without meaning. Starting a text process takes most of it. */
const PLACE_MS = 4_000

/** Where the text is in the space of vectors. Null: it has no meaning. `unread`: the text process failed, or is too busy. */
type Place = TextPlace | null | 'unread'

export async function placeOf(textWork: TextWork, query: string): Promise<Place> {
  const text = meaningText(query)
  if (text === '') return null
  // Not aborted when it takes too long: that would end the process. Not in the turn of the organization, behind its own analyses.
  const job = textWork.run(
    'places',
    { texts: [meaningKey(text)], cells: CELLS },
    new AbortController().signal,
  )
  const places = await inTime(job)
  return places === null ? 'unread' : (places[0] ?? null)
}

const inTime = (job: Promise<readonly (TextPlace | null)[]>) =>
  withTimeout(job, PLACE_MS, () => new Error('the text process is too busy')).catch(() => null)

/** In a transaction that only reads. */
export async function findRelated(
  context: Context,
  { asked, parsed, isCorrected, any }: Unmatched,
  place: Place,
): Promise<Results> {
  const complete = place !== 'unread'
  const near = place === null || place === 'unread' ? [] : await nearest(context, { asked, parsed, place })
  const ids = fused([any, near]).slice(0, RELATED)
  if (ids.length === 0) return { ...NOTHING, complete }
  const way = wayOf(isCorrected, near.length > 0 ? 'meaning' : 'any', complete)
  return showRelated(context, { asked, parsed, ids, way })
}

/** The nearest passage of each conversation, record and recording that the viewer may see, nearest first. */
async function nearest(
  context: Context,
  { asked, parsed, place }: Pick<Unmatched, 'asked' | 'parsed'> & { readonly place: TextPlace },
): Promise<readonly Placed[]> {
  const { tx, viewer } = context
  const { organizationId } = viewer
  const candidates = await candidatesOf(tx, organizationId, place.cells, CANDIDATES)
  const near = await compared(place, candidates)
  const filter = filterOf(context, asked)
  const excluded = parsed.flatMap(({ configuration, excluded: units }) =>
    units.map((unit) => ({ configuration, query: marked(unitText(unit), organizationId) })),
  )
  const subjects = new Map<string, Placed>()
  for (let round = 0; round < ROUNDS && subjects.size < RELATED; round++) {
    const some = near.slice(round * CHECKED, (round + 1) * CHECKED)
    if (some.length === 0) break
    const rows = await visibleAmong(
      tx,
      filter,
      some.map(({ id }) => id),
      excluded,
    )
    const subjectOf = new Map(rows.map(({ id, subject }) => [id, subject]))
    for (const { id } of some) {
      const subject = subjectOf.get(id)
      if (subject !== undefined && !subjects.has(subject)) subjects.set(subject, { id, subject })
    }
  }
  return [...subjects.values()].slice(0, RELATED)
}

async function compared(place: TextPlace, candidates: readonly Candidate[]): Promise<readonly Near[]> {
  const wanted = new Int8Array(Buffer.from(place.vector, 'base64'))
  const parts = Array.from({ length: Math.ceil(candidates.length / COMPARED) }, (_, n) =>
    candidates.slice(n * COMPARED, (n + 1) * COMPARED),
  )
  const near = await mapInSlices(parts, (part) => nearOf(wanted, part))
  return near.flat().toSorted((a, b) => b.nearness - a.nearness || b.id - a.id)
}
