/** Operations on the signed-in user and on the user's own browser sessions. */

import { noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { uuidOf } from '../../http/parameters.ts'
import { clearSessionCookie, csrfTokenOf, sessionSecretOf } from '../../http/session-cookie.ts'
import type { Config } from '../../kernel/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { Identity } from '../identity/service.ts'
import { answered } from './invitation-audit.ts'
import { SESSION_EXAMPLE, SESSION_LIST_EXAMPLE, SessionInfo, UserSessionList } from './model.ts'

const SESSION = '/v3/rest/session'
const SESSIONS = '/v3/rest/sessions'
const INVITATION = `${SESSION}/invitations/{invitingId}`
const NO_INVITATION = 'invitation_not_found'
const TAG = 'Session'

type SessionIdentity = Pick<
  Identity,
  | 'acceptInvitation'
  | 'declineInvitation'
  | 'endSession'
  | 'findUserAnywhere'
  | 'invitationsOf'
  | 'listSessions'
  | 'organizationsOf'
>
type BaseConfig = Pick<Config, 'publicBaseUrl'>

/** `/v3/rest/session` and `/v3/rest/sessions`. All act on the person. */
export function sessionOperations(identity: SessionIdentity, config: BaseConfig): readonly Operation[] {
  return [
    getSession(identity, config),
    endOwnSession(identity, config),
    acceptInvitation(identity),
    declineInvitation(identity),
    listSessions(identity),
    endSession(identity),
  ]
}

const getSession = (identity: SessionIdentity, config: BaseConfig) =>
  operation({
    id: 'getSession',
    method: 'GET',
    path: SESSION,
    tag: TAG,
    summary: 'Who is signed in',
    description:
      'The user of the browser session or of the user token, with the user’s organizations and invitations. A token that is bound to an organization is refused here: 403 ' +
      '`unbound_credential_required`; `GET /v3/rest/members/me` tells its user.',
    access: 'person',
    success: { status: 200, description: 'The user', schema: SessionInfo, example: SESSION_EXAMPLE },
    async handler({ principal: { userId, sessionId = null }, request }) {
      const [user, organizations, invitations] = await Promise.all([
        identity.findUserAnywhere(userId),
        identity.organizationsOf(userId, sessionId),
        identity.invitationsOf(userId),
      ])
      if (user === null) throw new AppError('unauthenticated', 'The user was removed meanwhile.')
      const secret = sessionId === null ? null : sessionSecretOf(request, config)
      const { id, email, name } = user
      return ok({
        user: { id, email, name },
        organizations,
        invitations,
        sessionId,
        csrfToken: secret === null ? null : csrfTokenOf(secret),
      })
    },
  })

const endOwnSession = (identity: SessionIdentity, config: BaseConfig) =>
  operation({
    id: 'signOut',
    method: 'DELETE',
    path: SESSION,
    tag: TAG,
    summary: 'Sign out',
    description:
      'Ends the browser session of the request and removes its cookie. The process that answers refuses the session at once; ' +
      'other processes follow within 5 seconds. A user token is not a session: 409 `session_required`.',
    access: 'person',
    success: { status: 204, description: 'The session has ended' },
    errors: ['session_required'],
    async handler({ principal: { userId, sessionId }, request }) {
      if (sessionId === undefined)
        throw new AppError('session_required', 'This operation needs a browser session.')
      await identity.endSession(userId, sessionId)
      return { ...noContent(), headers: { 'set-cookie': clearSessionCookie(request, config) } }
    },
  })

const acceptInvitation = (identity: SessionIdentity) =>
  operation({
    id: 'acceptInvitation',
    method: 'PUT',
    path: INVITATION,
    params: { invitingId: uuidOf('organization that invites') },
    tag: TAG,
    summary: 'Accept an invitation',
    description:
      'Makes the user a member of the organization, at once in the process that answers and within 5 seconds in the others.',
    access: 'person',
    success: { status: 204, description: 'The user is a member' },
    errors: [NO_INVITATION],
    async handler({ principal: { userId }, id, requestId }) {
      const organizationId = id('invitingId', NO_INVITATION)
      await identity.acceptInvitation(organizationId, userId, answered('member.accepted', userId, requestId))
      return noContent()
    },
  })

const declineInvitation = (identity: SessionIdentity) =>
  operation({
    id: 'declineInvitation',
    method: 'DELETE',
    path: INVITATION,
    params: { invitingId: uuidOf('organization that invites') },
    tag: TAG,
    summary: 'Decline an invitation',
    description: 'The organization may invite the user again.',
    access: 'person',
    success: { status: 204, description: 'The invitation has ended' },
    errors: [NO_INVITATION],
    async handler({ principal: { userId }, id, requestId }) {
      const organizationId = id('invitingId', NO_INVITATION)
      await identity.declineInvitation(organizationId, userId, answered('member.declined', userId, requestId))
      return noContent()
    },
  })

const listSessions = (identity: SessionIdentity) =>
  operation({
    id: 'listSessions',
    method: 'GET',
    path: SESSIONS,
    tag: TAG,
    summary: 'List own sessions',
    description: 'The browser sessions of the user, newest first.',
    access: 'person',
    success: {
      status: 200,
      description: 'The sessions',
      schema: UserSessionList,
      example: SESSION_LIST_EXAMPLE,
    },
    async handler({ principal: { userId, sessionId } }) {
      const rows = await identity.listSessions(userId)
      return ok({ data: rows.map((row) => ({ ...row, current: row.id === sessionId })) })
    },
  })

const endSession = (identity: SessionIdentity) =>
  operation({
    id: 'endSession',
    method: 'DELETE',
    path: `${SESSIONS}/{userSessionId}`,
    params: { userSessionId: uuidOf('session') },
    tag: TAG,
    summary: 'End an own session',
    description:
      'The process that answers refuses the session at once; other processes follow within 5 seconds. Repeating the request ' +
      'changes nothing.',
    access: 'person',
    success: { status: 204, description: 'The session has ended' },
    errors: ['user_session_not_found'],
    async handler({ principal: { userId }, id }) {
      await identity.endSession(userId, id('userSessionId', 'user_session_not_found'))
      return noContent()
    },
  })
