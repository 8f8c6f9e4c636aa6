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

/** What had the focus last. An element that is removed loses it without a word. */
let lastFocused: EventTarget | null = null
addEventListener('focusin', ({ target }) => {
  lastFocused = target
})

/** The link of the row that has the focus, or had it when it was removed. */
export function focusedRow(): string | null {
  const row = lastFocused instanceof Element ? lastFocused.closest('[data-row]') : null
  return row?.getAttribute('href') ?? null
}

/** @returns to be called when the element goes: its focus moves to the next row, or else to the heading */
export function handingOn(element: Element): () => void {
  const row = element.closest('li')
  const beside = [row?.nextElementSibling, row?.previousElementSibling]
  return () => {
    const { activeElement, body } = document
    if (lastFocused !== element || (activeElement !== element && activeElement !== body)) return
    const neighbour = beside.find((one) => one?.isConnected)
    const link = neighbour?.querySelector<HTMLElement>('[data-row]') ?? heading()
    link?.focus({ preventScroll: true })
  }
}
