/** A page whose code is loaded with its first visit. Without a network it says so, and appears when the network is back. */
import type { ComponentType } from 'preact'
import { PREFIX, Problem } from '../api.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from './notes.tsx'

export function later<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let failures = 0
  async function page(): Promise<ComponentType<Props>> {
    try {
      return await load()
    } catch {
      failures++
      // Some browsers remember that code could not be loaded, until the page is loaded anew.
      if (failures > 1 && (await isReachable())) location.reload()
      throw new Problem(0, 'unreachable', 'The service cannot be reached.')
    }
  }
  return (props) => {
    const loaded = useLoaded(name, page)
    if (loaded.data === null)
      return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
    const Page = loaded.data
    return <Page {...props} />
  }
}

const isReachable = () =>
  fetch(`${PREFIX}/health`).then(
    ({ ok }) => ok,
    () => false,
  )
