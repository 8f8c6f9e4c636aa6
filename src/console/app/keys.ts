/** Keys of the whole page. They do nothing while somebody types. */

type Handlers = Readonly<Record<string, () => void>>

/** @returns removes the handlers */
export function onKeys(handlers: Handlers): () => void {
  const handle = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const act = handlers[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  document.addEventListener('keydown', handle)
  return () => document.removeEventListener('keydown', handle)
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

/** `j` and `k` move the focus over the rows of a page: the links of a list, or those that lead to the places of quotations. */
export function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  rows[at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step]?.focus()
}
