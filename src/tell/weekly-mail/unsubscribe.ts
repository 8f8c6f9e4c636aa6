/**
 * The link that ends a weekly mail without a sign-in (RFC 8058). Its token is sealed, so nobody can make one, and it ends one mail of one
 * member and nothing else. It works as long as the member gets the mail.
 */
import type { Config } from '../../kernel/config.ts'
import { isUuid } from '../../platform/ids.ts'
import { createSealedTokens } from '../../platform/secrets/sealed-token.ts'

export const UNSUBSCRIBE_PATH = '/unsubscribe'

const TOKENS = { name: 'unsubscribe', purpose: 'unsubscribe links', context: 'weekly mail' }

export interface Wish {
  readonly organizationId: string
  readonly id: string
}

export interface UnsubscribeLinks {
  /** `baseUrl` without a trailing slash. */
  of(baseUrl: string, wish: Wish): Promise<string>
  /** @returns null if the token is not one of this service */
  read(token: string): Promise<Wish | null>
}

export function createUnsubscribeLinks(config: Pick<Config, 'dataDir' | 'secretKey'>): UnsubscribeLinks {
  const tokens = createSealedTokens(config, TOKENS)
  return {
    async of(baseUrl, { organizationId, id }) {
      const token = await tokens.of(`${organizationId} ${id}`)
      return `${baseUrl}${UNSUBSCRIBE_PATH}?${new URLSearchParams({ token })}`
    },
    async read(token) {
      const [organizationId = '', id = ''] = (await tokens.read(token))?.split(' ') ?? []
      return isUuid(organizationId) && isUuid(id) ? { organizationId, id } : null
    },
  }
}
