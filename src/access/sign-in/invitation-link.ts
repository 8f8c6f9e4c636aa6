/**
 * The link in the mail of an invitation. Who opens it reads mail at the invited address, so it accepts without a sign-in. It is good for
 * this invitation alone: not for a later one, and it signs nobody in.
 */
import type { Config } from '../../kernel/config.ts'
import { isUuid } from '../../platform/ids.ts'
import { createSealedTokens } from '../../platform/secrets/sealed-token.ts'
import { INVITATION_PATH } from './link.rules.ts'

const TOKENS = { name: 'invitations', purpose: 'invitation links', context: 'invitation' }

interface InvitationLink {
  readonly organizationId: string
  readonly userId: string
  readonly invitedAt: Date
}

export interface InvitationLinks {
  /** `baseUrl` without a trailing slash. */
  of(baseUrl: string, link: InvitationLink): Promise<string>
  /** @returns null if the token is not one of this service */
  read(token: string): Promise<InvitationLink | null>
}

export function createInvitationLinks(config: Pick<Config, 'dataDir' | 'secretKey'>): InvitationLinks {
  const tokens = createSealedTokens(config, TOKENS)
  return {
    async of(baseUrl, { organizationId, userId, invitedAt }) {
      const token = await tokens.of(`${organizationId} ${userId} ${invitedAt.getTime()}`)
      return `${baseUrl}${INVITATION_PATH}?${new URLSearchParams({ token })}`
    },
    async read(token) {
      const [organizationId = '', userId = '', time] = (await tokens.read(token))?.split(' ') ?? []
      if (!isUuid(organizationId) || !isUuid(userId)) return null
      return { organizationId, userId, invitedAt: new Date(Number(time)) }
    },
  }
}
