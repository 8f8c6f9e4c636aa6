/** The summary of a period against the period before. Plain arithmetic over counts, with quotations; no model. */
import type { Tx } from '../../../platform/db/pool.ts'
import { type Days, daysBefore, momentOf } from '../counts.rules.ts'
import * as counts from '../counts.store.ts'
import type { CountRequest, Metric } from '../model.ts'
import { pathOf } from '../timeline/page.rules.ts'
import { type Change, changesOf, pairsOf } from './digest.rules.ts'
import { type QuotationAccess, type QuotationRow, quotations } from './digest.store.ts'

export interface Pair {
  readonly count: number
  readonly before: number
}

interface Quotation extends Omit<QuotationRow, 'topic'> {
  readonly path: string
}

export interface Topic extends Change {
  readonly quotations: readonly Quotation[]
}

export interface Topics {
  readonly grew: readonly Topic[]
  readonly fell: readonly Topic[]
}

export interface Digest {
  readonly days: Days
  readonly since: string
  readonly until: string
  /** The period before begins here and ends at `since`. */
  readonly beforeSince: string
  readonly totals: Readonly<Record<'signals' | 'sessions' | 'feedback' | 'recordings', Pair>>
  readonly outcomes: Readonly<Record<'resolved' | 'unresolved' | 'unclear', Pair>>
  readonly kinds: Topics
  readonly productAreas: Topics
}

export type DigestAccess = counts.CountAccess & QuotationAccess

/** @param limit quotations of each kind and area */
export async function digestOf(tx: Tx, access: DigestAccess, days: Days, limit: number): Promise<Digest> {
  const before = daysBefore(days)
  const pairs = async (metric: Metric, key: CountRequest['by'][number]) => {
    const request = { metric, by: [key] }
    const [now, then] = await Promise.all(
      [days, before].map(async (period) => {
        const rows = await counts.countRows(tx, access, request, period)
        return new Map(rows.map(({ first, count }) => [first, count]))
      }),
    )
    return pairsOf(now ?? new Map(), then ?? new Map())
  }
  const topics = async (column: 'kind' | 'product_area', all: readonly Change[]): Promise<Topics> => {
    const { grew, fell } = changesOf(all)
    const names = [...grew, ...fell].map(({ name }) => name)
    const rows = names.length === 0 ? [] : await quotations(tx, access, column, names, days, limit)
    const quoted = (changes: readonly Change[]) =>
      changes.map((change) => ({
        ...change,
        quotations: rows.filter(({ topic }) => topic === change.name).map(quotationOf),
      }))
    return { grew: quoted(grew), fell: quoted(fell) }
  }
  const total = async (metric: Metric) => sumOf(await pairs(metric, 'channel'))
  const outcomes = await pairs('outcomes', 'outcome')
  const outcome = (name: string): Pair => sumOf(outcomes.filter((pair) => pair.name === name))
  return {
    days,
    since: momentOf(days.from, days.timeZone),
    until: momentOf(days.to, days.timeZone),
    beforeSince: momentOf(before.from, days.timeZone),
    totals: {
      signals: await total('signals'),
      sessions: await total('sessions'),
      feedback: await total('feedback'),
      recordings: await total('recordings'),
    },
    outcomes: {
      resolved: outcome('resolved'),
      unresolved: outcome('unresolved'),
      unclear: outcome('unclear'),
    },
    kinds: await topics('kind', await pairs('signals', 'kind')),
    productAreas: await topics('product_area', await pairs('signals', 'productArea')),
  }
}

const sumOf = (pairs: readonly Change[]): Pair => ({
  count: pairs.reduce((sum, { count }) => sum + count, 0),
  before: pairs.reduce((sum, { before }) => sum + before, 0),
})

function quotationOf({ topic: _, ...row }: QuotationRow): Quotation {
  return { ...row, path: pathOf({ channel: row.channel, id: row.id, sourceId: row.feedbackSourceId }) }
}
