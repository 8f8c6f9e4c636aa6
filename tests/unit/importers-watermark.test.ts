/** The cursor of help desks that list conversations by the moment of their last change. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  advanced,
  type Changed,
  unread,
  watermarkOf,
} from '../../src/hear/importers/providers/watermark.rules.ts'

const SINCE = new Date('2026-01-01T00:00:00Z')
const START = SINCE.getTime() / 1000
const PAGE = 3

interface Desk {
  readonly changes: Map<number, number>
  now: number
}

const itemsOf = ({ changes }: Desk): Changed[] =>
  [...changes].map(([id, changedAt]) => ({ key: `${id}@${changedAt}`, changedAt }))

/** The next page as Intercom lists it (behind a place in the order of changes), or as Chatwoot does (by number, the latest first). */
const LISTS = {
  ascending(desk: Desk, next: string | null): readonly [Changed[], string | null] {
    const sorted = itemsOf(desk).toSorted((a, b) => a.changedAt - b.changedAt || (a.key < b.key ? -1 : 1))
    const behind =
      next === null ? sorted : sorted.filter(({ changedAt, key }) => `${changedAt} ${key}` > next)
    const last = behind.slice(0, PAGE).at(-1)
    return [behind.slice(0, PAGE), behind.length > PAGE && last ? `${last.changedAt} ${last.key}` : null]
  },
  descending(desk: Desk, next: string | null): readonly [Changed[], string | null] {
    const sorted = itemsOf(desk).toSorted((a, b) => b.changedAt - a.changedAt || (a.key < b.key ? 1 : -1))
    const page = Number(next ?? 0)
    const shown = sorted.slice(page * PAGE, (page + 1) * PAGE)
    return [shown, shown.length === 0 ? null : String(page + 1)]
  },
}

describe('a pass', () => {
  for (const [order, list] of Object.entries(LISTS))
    test(`property: every change is read, whatever changes during passes (${order})`, () => {
      const change = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 200 }))
      fc.assert(
        fc.property(fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 40 }), (steps) => {
          const desk: Desk = { changes: new Map(), now: START }
          const read = new Set<string>()
          let cursor: string | null = null
          const readPage = () => {
            const mark = watermarkOf(cursor, SINCE)
            const [items, next] = list(desk, mark.next)
            for (const { key } of unread(mark, items)) read.add(key)
            cursor = advanced(mark, items, next)
            return next === null
          }
          for (const changes of steps) {
            for (const [id, seconds] of changes) {
              desk.now += seconds
              desk.changes.set(id, desk.now)
            }
            readPage()
          }
          // What is under way ends, and one more pass sees what changed meanwhile.
          while (!readPage());
          while (!readPage());
          expect(itemsOf(desk).filter(({ key }) => !read.has(key))).toEqual([])
          // A pass without changes reads nothing.
          const before = read.size
          read.clear()
          while (!readPage());
          expect([before > 0 || desk.changes.size === 0, read.size]).toEqual([true, 0])
        }),
        { numRuns: 200 },
      )
    })
})
