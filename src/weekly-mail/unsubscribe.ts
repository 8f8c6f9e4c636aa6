/**
 * The link that ends a weekly mail without a sign-in (RFC 8058). Its token is sealed, so nobody can make one, and it ends one mail of one
 * member and nothing else. It works as long as the member gets the mail.
 */
import type { Config } from '../config.ts'
import { isUuid } from '../platform/ids.ts'
import { createSeal } from '../platform/secrets/seal.ts'

export const UNSUBSCRIBE_PATH = '/unsubscribe'

const CONTEXT = 'weekly mail'
const TOKEN = /^[\w-]{100,300}$/

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
  const seal = createSeal(config, 'unsubscribe', 'unsubscribe links')
  return {
    async of(baseUrl, { organizationId, id }) {
      const sealed = await seal.seal(`${organizationId} ${id}`, CONTEXT)
      const token = Buffer.from(sealed).toString('base64url')
      return `${baseUrl}${UNSUBSCRIBE_PATH}?${new URLSearchParams({ token })}`
    },
    async read(token) {
      if (!TOKEN.test(token)) return null
      const text = await seal.open(Buffer.from(token, 'base64url'), CONTEXT)
      const [organizationId = '', id = ''] = text?.split(' ') ?? []
      return isUuid(organizationId) && isUuid(id) ? { organizationId, id } : null
    },
  }
}
