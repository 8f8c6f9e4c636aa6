/** The end of every way to sign in: a new session, never one that the browser had before. */

import { sessionSecretOf, setSessionCookie } from '../../http/session-cookie.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Identity } from '../identity/service.ts'
import { SESSION_SECONDS } from '../identity/sessions.ts'
import { redirect } from './html.ts'
import type { PageRequest } from './page-request.ts'

export type StartSessionDeps = Pick<Deps, 'config' | 'log'> & {
  readonly identity: Pick<Identity, 'personBySession' | 'createSession' | 'endSession'>
}

/** Signs the user in, ends the session that the browser had, and leads to a page of this service. */
export async function startSession(
  { config, identity, log }: StartSessionDeps,
  { request, baseUrl }: Pick<PageRequest, 'request' | 'baseUrl'>,
  userId: string,
  returnPath: string,
  cookies: readonly string[] = [],
): Promise<Response> {
  const old = sessionSecretOf(request, config)
  const before = old === null ? null : await identity.personBySession(old)
  if (before !== null && !('refused' in before))
    await identity.endSession(before.userId, before.sessionId ?? '')
  const { id, secret } = await identity.createSession(userId, request.headers.get('user-agent'))
  log.info({ userId, sessionId: id }, 'user signed in')
  const session = setSessionCookie(request, config, secret, SESSION_SECONDS)
  return redirect(`${baseUrl}${returnPath}`, [session, ...cookies])
}
