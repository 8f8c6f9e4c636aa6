/** The state of a page is its address: filters are in the query, so that every view can be sent as a link. */
import { useLocation } from 'preact-iso'
import { PREFIX } from './api.ts'

/** The address of a page of the console. Empty values are left out. */
export function pageOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const text = new URLSearchParams(given).toString()
  return `${PREFIX}/console${path}${text === '' ? '' : `?${text}`}`
}

export interface Filters {
  /** The value of each filter; empty without one. */
  readonly get: (name: string) => string
  /** Whether any of these has a value. */
  readonly hasAny: (...names: readonly string[]) => boolean
  /** Changes the address in place. An empty value removes the filter. */
  readonly set: (name: string, value: string, more?: Readonly<Record<string, string>>) => void
  /** Same filters, same text. */
  readonly key: string
}

export function useFilters(): Filters {
  const { url, path, query, route } = useLocation()
  return {
    key: url,
    get: (name) => query[name] ?? '',
    hasAny: (...names) => names.some((name) => (query[name] ?? '') !== ''),
    set(name, value, more = {}) {
      const next = new URLSearchParams(query as Record<string, string>)
      for (const [one, to] of Object.entries({ ...more, [name]: value })) {
        if (to === '') next.delete(one)
        else next.set(one, to)
      }
      const text = next.toString()
      route(`${path}${text === '' ? '' : `?${text}`}`, true)
    },
  }
}
