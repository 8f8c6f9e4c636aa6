/** Who said something: the names of the people behind signals, read at once for a page. */
import { pageOf } from '../address.ts'
import { api, contentOf } from '../api.ts'
import { useLoaded } from '../load.ts'
import { nameOf } from '../words.ts'

/** The most that one request may ask for. */
const MAX_AT_ONCE = 100

export interface Who {
  readonly href: string
  readonly name: string
}

interface Said {
  readonly personId: string | null
}

/** Tells who said a signal; null if it is unknown. Until the names are there, a person is somebody. */
export function useWho(signals: readonly Said[]): (signal: Said) => Who | null {
  const uuids = [...new Set(signals.flatMap(({ personId }) => personId ?? []))].sort()
  const names = useLoaded(uuids.length === 0 ? null : uuids.join(','), async (signal) => {
    const pages = Array.from({ length: Math.ceil(uuids.length / MAX_AT_ONCE) }, (_, page) =>
      uuids.slice(page * MAX_AT_ONCE, (page + 1) * MAX_AT_ONCE),
    )
    const people = await Promise.all(
      pages.map((some) => {
        const query = { uuids: some.join(','), limit: MAX_AT_ONCE }
        return contentOf(api.GET('/v3/rest/people', { params: { query }, signal }))
      }),
    )
    return new Map(people.flatMap(({ data }) => data.map((person) => [person.uuid, nameOf(person)])))
  })
  return ({ personId }) =>
    personId === null
      ? null
      : { href: pageOf(`/people/${personId}`), name: names.data?.get(personId) ?? 'Somebody' }
}
