/** The button below a list that loads more. The focus goes on to the first new row. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Pages } from '../load.ts'

interface Asked {
  /** The list above the button. */
  readonly list: Element | null
  /** How many rows it had. */
  readonly before: number
}

export function More({ pages: { rows, more, onDrawn } }: { readonly pages: Pages<unknown> }) {
  const asked = useRef<Asked | null>(null)
  useLayoutEffect(onDrawn, [])
  useEffect(() => {
    if (asked.current === null || rows.length <= asked.current.before) return
    const { list, before } = asked.current
    asked.current = null
    const row = rowsOf(list)[before]
    // The button was gone while the rows came, and the focus with it. Whoever went elsewhere stays there.
    if (row !== undefined && document.activeElement === document.body) focusRow(row)
  }, [rows.length])
  return more === null ? null : (
    <button
      type="button"
      class="more"
      onClick={(event) => {
        asked.current = { list: event.currentTarget.previousElementSibling, before: rows.length }
        more()
      }}
    >
      Show more
    </button>
  )
}

const rowsOf = (list: Element | null): ArrayLike<Element> =>
  (list instanceof HTMLTableElement ? list.tBodies[0]?.rows : list?.children) ?? []

function focusRow(row: Element): void {
  const link = row.querySelector<HTMLElement>('[data-row]')
  if (link !== null) link.focus()
  else if (row instanceof HTMLElement) {
    row.tabIndex = -1
    row.focus()
  }
}
