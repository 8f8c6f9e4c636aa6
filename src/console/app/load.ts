/** Loading for components: what was shown stays until the new is there. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Problem } from './api.ts'
import { backTo, leaveList, showPlace } from './left-lists.ts'
import { mayPass, pauseAfter } from './reconnect.ts'

export type Loaded<T> =
  | { readonly state: 'loading'; readonly data: T | null }
  | { readonly state: 'ready'; readonly data: T }
  | { readonly state: 'failed'; readonly problem: Problem; readonly data: T | null }

/**
 * Loads when a component appears and whenever `key` changes; an answer to an older key is dropped. Loads again while the service cannot be reached.
 * @param key names what is loaded, such as the address of the page; null: nothing to load yet
 */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading', data: null })
  useEffect(() => {
    if (key === null) return
    const stop = new AbortController()
    setLoaded((before) => ({ state: 'loading', data: before.data }))
    void keepLoading(load, stop.signal, setLoaded)
    return () => stop.abort()
  }, [key])
  return loaded
}

/** The problem stays while it is tried again. */
async function keepLoading<T>(
  load: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  setLoaded: (next: Loaded<T> | ((before: Loaded<T>) => Loaded<T>)) => void,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const data = await load(signal)
      if (!signal.aborted) setLoaded({ state: 'ready', data })
      return
    } catch (error) {
      if (signal.aborted) return
      const problem = problemOf(error)
      setLoaded((before) => ({ state: 'failed', problem, data: before.data }))
      if (!mayPass(problem)) return
      await pauseAfter(failures, signal)
    }
  }
}

export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'unknown', String(error))
}

/** A page of a list with a cursor. */
export interface ListPage<T> {
  readonly data: readonly T[]
  readonly next_cursor?: string | null | undefined
}

export interface Pages<T, P extends ListPage<T> = ListPage<T>> {
  readonly rows: readonly T[]
  /** With what the list has beside its rows. */
  readonly first: P | null
  readonly state: 'loading' | 'ready' | 'failed'
  readonly problem: Problem | null
  /** Null at the end of the list. */
  readonly more: (() => void) | null
  /** Called when the rows are drawn. Whoever came back gets the place that was left. */
  readonly onDrawn: () => void
}

interface Cursor {
  readonly key: string
  readonly at: string | undefined
  /** The pages are those that were left. Nothing is loaded until more are asked for. */
  readonly isHeld: boolean
}

/**
 * A list that grows page by page. Starts anew when `key` changes; shows the same pages when the browser comes back.
 * @param round when it rises, a list of one page is loaded again; a longer one stays as it is, because somebody reads it
 */
export function usePages<T, P extends ListPage<T> = ListPage<T>>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<P & ListPage<T>>,
  round = 0,
): Pages<T, P> {
  const { url } = useLocation()
  const name = `${url} ${key}`
  const back = useRef(useState(() => backTo<P & ListPage<T>>(url, name))[0])
  const [pages, setPages] = useState<readonly (P & ListPage<T>)[]>(back.current?.pages ?? [])
  const [cursor, setCursor] = useState<Cursor>({ key, at: undefined, isHeld: pages.length > 1 })
  const at = cursor.key === key ? cursor.at : undefined
  const isHeld = cursor.key === key && cursor.isHeld
  const fresh = at === undefined ? round : 0
  const page = useLoaded(isHeld ? null : `${key} ${at ?? ''} ${fresh}`, (signal) => load(at, signal))
  const newest = page.state === 'ready' && !isHeld ? page.data : null
  const kept = useRef({ name, pages })
  useEffect(() => {
    if (newest === null) return
    const next = at === undefined ? [newest] : [...pages, newest]
    kept.current = { name, pages: next }
    setPages(next)
  }, [newest])
  // Other effects end when the list has gone, and the place with it.
  useLayoutEffect(
    () => () => {
      if (kept.current.name === name) leaveList(name, kept.current.pages)
    },
    [name],
  )
  // Before the effect has run, an empty list would show for a moment.
  const shown = pages.length === 0 && newest !== null ? [newest] : pages
  const next = shown.at(-1)?.next_cursor ?? null
  const state = isHeld ? 'ready' : page.state
  return {
    rows: shown.flatMap(({ data }) => data),
    first: shown[0] ?? null,
    state,
    problem: page.state === 'failed' ? page.problem : null,
    more: next === null || state !== 'ready' ? null : () => setCursor({ key, at: next, isHeld: false }),
    onDrawn() {
      if (back.current !== null) showPlace(back.current)
      back.current = null
    },
  }
}
