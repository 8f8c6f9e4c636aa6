/** Whether people can sign in with the OpenID Connect provider, for `earshot doctor`. */
import type { Config } from '../../kernel/config.ts'
import type { SendOutbound } from '../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'
import type { Log } from '../../platform/observability/log.ts'
import { createOpenId } from './openid.ts'

/** Asks for the discovery of the provider. @returns null without a provider */
export async function examineSignIn(
  { openId }: Pick<Config, 'openId'>,
  send: SendOutbound,
  log: Log,
): Promise<{ readonly ok: boolean; readonly detail: string } | null> {
  if (openId === null) return null
  const provider = `the provider at ${new URL(openId.issuer).host}`
  try {
    await createOpenId(openId, send, log).assertUsable()
    return { ok: true, detail: provider }
  } catch (error) {
    return { ok: false, detail: `${provider} ${reasonOf(error)}` }
  }
}

function reasonOf(error: unknown): string {
  const said = String((error as Error).message)
  if (!(error instanceof PublicFetchError)) return `cannot be used: ${said}. Correct OIDC_ISSUER`
  if (error.code === 'url_not_allowed')
    return `is not asked: ${said}. If it is yours, allow its address in OUTBOUND_ALLOW`
  return `cannot be reached. Start it, or correct OIDC_ISSUER (${said})`
}
