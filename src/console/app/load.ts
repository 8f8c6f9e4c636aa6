/** Loading for components: what was shown stays until the new is there. */
import { useEffect, useState } from 'preact/hooks'
import { Problem } from './api.ts'

export type Loaded<T> =
  | { readonly state: 'loading'; readonly data: T | null }
  | { readonly state: 'ready'; readonly data: T }
  | { readonly state: 'failed'; readonly problem: Problem; readonly data: T | null }

/**
 * Loads when a component appears and whenever `key` changes; an answer to an older key is dropped.
 * @param key names what is loaded, such as the address of the page; null: nothing to load yet
 */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading', data: null })
  useEffect(() => {
    if (key === null) return
    const stop = new AbortController()
    setLoaded((before) => ({ state: 'loading', data: before.data }))
    load(stop.signal).then(
      (data) => {
        if (!stop.signal.aborted) setLoaded({ state: 'ready', data })
      },
      (error: unknown) => {
        if (!stop.signal.aborted)
          setLoaded((before) => ({ state: 'failed', problem: problemOf(error), data: before.data }))
      },
    )
    return () => stop.abort()
  }, [key])
  return loaded
}

export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'unknown', String(error))
}

/** A page of a list with a cursor. */
export interface ListPage<T> {
  readonly data: readonly T[]
  readonly next_cursor?: string | null | undefined
}

export interface Pages<T> {
  readonly rows: readonly T[]
  readonly state: 'loading' | 'ready' | 'failed'
  readonly problem: Problem | null
  /** Null at the end of the list. */
  readonly more: (() => void) | null
}

/**
 * A list that grows page by page. Starts anew when `key` changes.
 * @param round when it rises, a list of one page is loaded again; a longer one stays as it is, because somebody reads it
 */
export function usePages<T>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<T>>,
  round = 0,
): Pages<T> {
  const [pages, setPages] = useState<readonly ListPage<T>[]>([])
  const [cursor, setCursor] = useState<{ readonly key: string; readonly at: string | undefined }>({
    key,
    at: undefined,
  })
  const at = cursor.key === key ? cursor.at : undefined
  const fresh = at === undefined ? round : 0
  const page = useLoaded(`${key} ${at ?? ''} ${fresh}`, (signal) => load(at, signal))
  const newest = page.state === 'ready' ? page.data : null
  useEffect(() => {
    if (newest !== null) setPages((before) => (at === undefined ? [newest] : [...before, newest]))
  }, [newest])
  // Before the effect has run, an empty list would show for a moment.
  const shown = pages.length === 0 && newest !== null ? [newest] : pages
  const next = shown.at(-1)?.next_cursor ?? null
  return {
    rows: shown.flatMap(({ data }) => data),
    state: page.state,
    problem: page.state === 'failed' ? page.problem : null,
    more: next === null || page.state !== 'ready' ? null : () => setCursor({ key, at: next }),
  }
}
