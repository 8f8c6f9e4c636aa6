/** Navigation beside the content; above it on a narrow screen. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { PREFIX } from '../api.ts'
import { useSession } from '../context.ts'
import { moveFocus, onKeys } from '../keys.ts'
import { focusHeading } from '../place.ts'
import { chooseOrganization, signOut } from '../session.ts'

interface Page {
  readonly path: string
  readonly title: string
  /** Who sees the link; absent: everybody. */
  readonly role?: 'administrator'
}

const PAGES: readonly Page[] = [
  { path: '', title: 'Overview' },
  { path: '/themes', title: 'Themes' },
  { path: '/findings', title: 'Findings' },
  { path: '/conversations', title: 'Conversations' },
  { path: '/calls', title: 'Calls' },
  { path: '/feedback', title: 'Feedback' },
  { path: '/people', title: 'People' },
  { path: '/health', title: 'Health' },
  { path: '/settings', title: 'Settings', role: 'administrator' },
]

export function Frame({ children }: { readonly children: ComponentChildren }) {
  const { path, route } = useLocation()
  const { membership } = useSession()
  const field = useRef<HTMLInputElement>(null)
  const help = useRef<HTMLDialogElement>(null)
  useEffect(
    () =>
      onKeys({
        '/': () => field.current?.focus(),
        '?': () => help.current?.showModal(),
        j: () => moveFocus(1),
        k: () => moveFocus(-1),
      }),
    [],
  )
  // On a narrow screen the pages are one line, which scrolls.
  useEffect(() => {
    const link = document.querySelector<HTMLElement>('.page-link[aria-current]')
    const line = link?.parentElement
    // `scrollIntoView` would move the page, too.
    if (link && line) line.scrollLeft = link.offsetLeft - line.offsetLeft - line.clientWidth / 2
  }, [path])
  const isCurrent = (page: string) => (page === '' ? path === pageOf('') : path.startsWith(pageOf(page)))
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="frame">
        <a class="brand" href={pageOf('')}>
          Earshot
        </a>
        <search>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              focusHeading()
              route(pageOf('/search', { q: field.current?.value.trim() }))
            }}
          >
            <input
              ref={field}
              type="search"
              name="q"
              dir="auto"
              aria-label="Search what customers said"
              placeholder="Search  /"
              onKeyDown={(event) => {
                if (event.key === 'Escape') event.currentTarget.blur()
              }}
            />
          </form>
        </search>
        <nav aria-label="Pages">
          {PAGES.filter(({ role }) => role === undefined || role === membership?.role).map((page) => (
            <a
              class="page-link"
              key={page.path}
              href={pageOf(page.path)}
              aria-current={isCurrent(page.path) ? 'page' : undefined}
            >
              {page.title}
            </a>
          ))}
        </nav>
        <Account />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl class="keys">
          <dt>/</dt>
          <dd>Search</dd>
          <dt>Escape</dt>
          <dd>Leave the search</dd>
          <dt>j, k</dt>
          <dd>Next and previous row of a list, or quotation</dd>
          <dt>Enter</dt>
          <dd>Open the row</dd>
          <dt>?</dt>
          <dd>These keys</dd>
        </dl>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  )
}

function Account() {
  const { session, membership } = useSession()
  return (
    <div class="account">
      {session.organizations.length > 1 ? (
        <select
          aria-label="Organization"
          value={membership?.id}
          onChange={(event) => chooseOrganization(event.currentTarget.value)}
        >
          {session.organizations.map(({ id, name }) => (
            <option key={id} value={id} dir="auto">
              {name}
            </option>
          ))}
        </select>
      ) : (
        <span dir="auto">{membership?.name ?? 'No organization'}</span>
      )}
      <span class="quiet">
        {session.user.email}
        {membership === null ? '' : `, ${membership.role}`}
      </span>
      <a href={`${PREFIX}/docs`}>API</a>
      <button type="button" class="link" onClick={() => void signOut()}>
        Sign out
      </button>
    </div>
  )
}
