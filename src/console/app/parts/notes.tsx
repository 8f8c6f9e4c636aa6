/** What stands where there is no content: loading, an error, no permission, nothing yet. */
import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { pageOf } from '../address.ts'
import type { Problem } from '../api.ts'
import { SessionContext, useSession } from '../context.ts'
import { useLoaded } from '../load.ts'
import { chooseOrganization, findElsewhere } from '../session.ts'

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  )
}

export function ErrorNote({ problem }: { readonly problem: Problem }) {
  const title =
    problem.status === 403
      ? 'You may not see this'
      : problem.status === 404
        ? 'This does not exist'
        : 'Something went wrong'
  return (
    <div class="note" role="alert">
      <h2>{title}</h2>
      <p>{problem.message}</p>
      <p class="quiet">
        <code>{problem.code}</code>
      </p>
      {problem.status === 404 && problem.url !== null ? <Elsewhere url={problem.url} /> : null}
    </div>
  )
}

/** A link may lead to something of another organization of the person: offers to go there. */
function Elsewhere({ url }: { readonly url: string }) {
  const opened = useContext(SessionContext)
  const found = useLoaded(url, (signal) => findElsewhere(opened, url, signal))
  if (found.data === null) return null
  const { id, name } = found.data
  return (
    <p>
      It belongs to <bdi>{name}</bdi>.{' '}
      <button type="button" onClick={() => chooseOrganization(id)}>
        Switch to <bdi>{name}</bdi>
      </button>
    </p>
  )
}

/** @param command what fills the page, to be copied */
export function Empty(props: {
  readonly title: string
  readonly children?: ComponentChildren
  readonly command?: string
}) {
  return (
    <div class="note">
      <h2>{props.title}</h2>
      {props.children}
      {props.command === undefined ? null : (
        <pre class="command">
          <code>{props.command}</code>
          <button type="button" onClick={() => void navigator.clipboard.writeText(props.command ?? '')}>
            Copy
          </button>
        </pre>
      )}
    </div>
  )
}

/** How the first conversation comes in. The page of an agent shows a command with the secret in it. */
export function FirstConversation() {
  const { membership } = useSession()
  if (membership?.role !== 'administrator')
    return <p>An administrator creates a secret with which an agent sends its conversations.</p>
  return (
    <p>
      <a href={pageOf('/settings/agents')}>Choose an agent</a> and press <em>New secret</em>. The page then
      shows a command that sends a first conversation.
    </p>
  )
}

/** Stands in every empty page of an organization without data. */
export function DemoHint() {
  return (
    <p class="quiet">
      To look around first, run <code>earshot demo</code> (from source: <code>npx -y bun earshot demo</code>).
      It loads data of a made-up company, which <code>earshot demo --remove</code> removes.
    </p>
  )
}
