/**
 * The page behind the link of an invitation, without a sign-in and without scripts. Programs that check mails open every link, so GET only
 * asks.
 */
import { queryOf } from '../../http/address.ts'
import { AppError } from '../../platform/errors.ts'
import type { Identity } from '../identity/service.ts'
import { pageResponse } from './html.ts'
import { answered } from './invitation-audit.ts'
import type { InvitationLinks } from './invitation-link.ts'
import type { PageRequest } from './page-request.ts'
import { acceptedPage, declinedPage, endedInvitationPage, invitationPage } from './pages.ts'

export interface InvitationPagesDeps {
  readonly identity: Pick<
    Identity,
    'acceptInvitation' | 'declineInvitation' | 'findInvitation' | 'findUserAnywhere'
  >
  readonly links: InvitationLinks
}

/** The invitation that the token is for, if it still stands. */
async function find({ identity, links }: InvitationPagesDeps, pageRequest: PageRequest, token: string) {
  const link = await links.read(token)
  const invitation = link === null ? null : await identity.findInvitation(link.organizationId, link.userId)
  const user = link === null || invitation === null ? null : await identity.findUserAnywhere(link.userId)
  if (invitation?.invitedAt.getTime() === link?.invitedAt.getTime() && invitation !== null && user !== null)
    return { invitation, user }
  await pageRequest.countAttempt()
  return null
}

export async function showInvitation(deps: InvitationPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const { prefix, request } = pageRequest
  const token = queryOf(request).get('token') ?? ''
  const found = await find(deps, pageRequest, token)
  if (found === null) return pageResponse(endedInvitationPage(pageRequest), prefix)
  const { invitation, user } = found
  return pageResponse(invitationPage({ ...invitation, prefix, email: user.email, token }), prefix)
}

export async function answerInvitation(
  deps: InvitationPagesDeps,
  pageRequest: PageRequest,
): Promise<Response> {
  const { prefix } = pageRequest
  const fields = await pageRequest.form()
  const found = await find(deps, pageRequest, fields.get('token') ?? '')
  if (found === null) return pageResponse(endedInvitationPage(pageRequest), prefix)
  const { invitation, user } = found
  const { organizationId, organizationName } = invitation
  switch (fields.get('answer')) {
    case 'accept':
      await deps.identity.acceptInvitation(organizationId, user.id, answered('member.accepted', user.id))
      return pageResponse(acceptedPage({ prefix, organizationName }), prefix)
    case 'decline':
      await deps.identity.declineInvitation(organizationId, user.id, answered('member.declined', user.id))
      return pageResponse(declinedPage({ organizationName }), prefix)
    default:
      throw new AppError('validation_failed', 'Accept or decline the invitation.')
  }
}
