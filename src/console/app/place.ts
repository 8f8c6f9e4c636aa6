/** Where the focus goes when a page opens: to its heading, as a browser that loads a page begins at its top. */
import { isTyping } from './keys.ts'

/** The path of the page that has its heading; the first page needs none. */
let headed = location.pathname

const heading = () => document.querySelector<HTMLElement>('main h1')

/** Moves the focus to the heading now, and to that of the page that follows, even at the same path. */
export function focusHeading(): void {
  headed = ''
  heading()?.focus({ preventScroll: true })
}

/** Called when a heading is drawn. Whoever types, or is at a place of the new page already, stays there. */
export function arrive(): void {
  if (headed === location.pathname) return
  headed = location.pathname
  const { activeElement } = document
  const isInside = activeElement?.closest('main') != null && activeElement !== heading()
  if (!isTyping(activeElement) && !isInside) heading()?.focus({ preventScroll: true })
}
