/** What lists showed when they were left, for the way back to them. In memory only: a reload begins anew. */

import { focusedRow } from './place.ts'

export interface LeftList<P> {
  readonly pages: readonly P[]
  /** Pixels from the top of the page. */
  readonly scroll: number
  /** The row that had the focus. */
  readonly href: string | null
}

const MAX_LISTS = 20
const lists = new Map<string, LeftList<unknown>>()

/** Events of scrolling come with the next frame: when a list goes, this is still its place. */
let scroll = 0
addEventListener('scroll', () => {
  scroll = scrollY
})

/** The address to which the browser last went back, or forward. */
let backAt = ''
addEventListener('popstate', () => {
  backAt = `${location.pathname}${location.search}`
})
// A link to the same page begins anew.
addEventListener(
  'click',
  () => {
    backAt = ''
  },
  true,
)

/** Keeps the list. `name` contains the address of its page. */
export function leaveList(name: string, pages: readonly unknown[]): void {
  lists.delete(name)
  lists.set(name, { pages, scroll, href: focusedRow() })
  const [oldest] = lists.keys()
  if (lists.size > MAX_LISTS && oldest !== undefined) lists.delete(oldest)
}

/** The list as it was left, if the browser went back to its page; otherwise null. */
export function backTo<P>(url: string, name: string): LeftList<P> | null {
  return url === backAt ? ((lists.get(name) as LeftList<P> | undefined) ?? null) : null
}

/** Scrolls to the place that was left, and gives the focus back to its row. */
export function showPlace({ scroll, href }: LeftList<unknown>): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  rows.find((row) => row.getAttribute('href') === href)?.focus({ preventScroll: true })
  scrollTo(0, scroll)
}
