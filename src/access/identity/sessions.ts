/**
 * Use cases of people who sign in with a browser: one-time links and sessions.
 *
 * A session is the same principal as a user token of the same user. Its secret is in the browser's cookie only. Every
 * sign-in creates a session with a new secret, so a secret that somebody planted in the browser is never signed in.
 */
import type { Sql } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid, type NewId } from '../../platform/ids.ts'
import { createKey, hashKey, isKey } from './keys.ts'
import * as links from './links.store.ts'
import * as store from './sessions.store.ts'
import {
  type OrganizationOfUser,
  selectOnlyUser,
  selectOrganizationsOf,
  selectUserAnywhere,
  type User,
} from './store.ts'

export type { UserSession } from './sessions.store.ts'

const SECONDS_A_DAY = 86_400
export const SESSION_SECONDS = 30 * SECONDS_A_DAY
const LINK_SECONDS = 15 * 60
/** Sessions of one user that are listed. */
const MAX_LISTED = 100
/** Characters of `User-Agent` that are kept. */
const MAX_USER_AGENT = 300

interface NewSession {
  readonly id: string
  /** The value of the cookie. It is never stored. */
  readonly secret: string
}

export interface Sessions {
  /** The user's access in the organizations; one of `revoke*` ends it earlier than after 30 days. */
  createSession(userId: string, userAgent: string | null): Promise<NewSession>
  /** Sessions that can still be used, newest first, at most 100. */
  listSessions(userId: string): Promise<readonly store.UserSession[]>
  /** Every process refuses the session from now on. @throws AppError 404 `user_session_not_found` */
  endSession(userId: string, id: string): Promise<void>
  /** A token for a link that signs the user in once, within 15 minutes. `requestId`: the mail that carries the link. */
  createLink(userId: string, requestId?: string): Promise<string>
  /** The user whom the link would sign in; null if it is unknown, used or expired. Changes nothing. */
  userOfLink(token: string): Promise<User | null>
  /** Uses a link. @returns the id of its user, or null as above */
  useLink(token: string): Promise<string | null>
  /** A user who is a member of an organization, by id or e-mail address; null if there is none. */
  findUserAnywhere(idOrEmail: string): Promise<User | null>
  /** The user of a service that has only one; null if there are none or several. */
  findOnlyUser(): Promise<User | null>
  /** The organizations of the user, and, with a session, those in which the session is valid. */
  organizationsOf(userId: string, sessionId: string | null): Promise<readonly OrganizationOfUser[]>
}

/** `forget` drops a user from the caches of this process. */
export function createSessions(
  { sql, newId }: { readonly sql: Sql; readonly newId: NewId },
  forget: (id: string) => void,
): Sessions {
  return {
    async createSession(userId, userAgent) {
      const { secret, hash } = createKey('ess')
      const id = newId()
      const shown = userAgent?.slice(0, MAX_USER_AGENT) ?? null
      await store.insertSession(sql, {
        id,
        userId,
        hash,
        userAgent: shown,
        lifetimeSeconds: SESSION_SECONDS,
      })
      return { id, secret }
    },
    listSessions: (userId) => store.selectSessions(sql, userId, MAX_LISTED),
    async endSession(userId, id) {
      if (!isUuid(id) || !(await store.revokeSession(sql, userId, id)))
        throw new AppError('user_session_not_found', 'There is no such session.')
      forget(userId)
    },
    async createLink(userId, requestId) {
      const { secret, hash } = createKey('esl')
      const row = { hash, userId, requestId: requestId ?? null, lifetimeSeconds: LINK_SECONDS }
      await links.insertLink(sql, row)
      return secret
    },
    userOfLink: async (token) => (isKey('esl', token) ? links.selectLinkUser(sql, hashKey(token)) : null),
    useLink: async (token) => (isKey('esl', token) ? links.deleteLink(sql, hashKey(token)) : null),
    findUserAnywhere: (idOrEmail) => selectUserAnywhere(sql, idOrEmail),
    findOnlyUser: () => selectOnlyUser(sql),
    organizationsOf: (userId, sessionId) => selectOrganizationsOf(sql, userId, sessionId),
  }
}
