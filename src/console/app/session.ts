/** Who is signed in, and for which organization. */
import { api, contentOf, credentials, type Schemas } from './api.ts'

export type Session = Schemas['Session']
export type Membership = Session['organizations'][number]

const CHOSEN = 'earshot.organization'

/** The session, with the organization that this browser used last. Without a session the browser leaves for the sign-in page. */
export async function openSession(): Promise<{
  readonly session: Session
  readonly membership: Membership | null
}> {
  const session = await contentOf(api.GET('/v3/rest/session'))
  const wanted = localStorage.getItem(CHOSEN)
  const membership = session.organizations.find(({ id }) => id === wanted) ?? session.organizations[0] ?? null
  credentials.csrfToken = session.csrfToken ?? ''
  credentials.organizationId = membership?.id ?? ''
  return { session, membership }
}

/** Reloads the page for another organization. */
export function chooseOrganization(id: string): void {
  localStorage.setItem(CHOSEN, id)
  location.reload()
}

/** Each is asked with a request of its own. */
const MOST_ASKED = 10

/** The first of the person's other organizations that has what `url` names. Of more than ten, only the first ten are asked. */
export async function findElsewhere(
  opened: { readonly session: Session; readonly membership: Membership | null } | null,
  url: string,
  signal: AbortSignal,
): Promise<Membership | null> {
  const others = (opened?.session.organizations ?? []).filter(({ id }) => id !== opened?.membership?.id)
  for (const other of others.slice(0, MOST_ASKED)) {
    const headers = { 'x-service-organization-key': other.id }
    const { ok } = await fetch(url, { headers, signal })
    if (ok) return other
  }
  return null
}

export async function signOut(): Promise<void> {
  await contentOf(api.DELETE('/v3/rest/session'))
  location.reload()
}
