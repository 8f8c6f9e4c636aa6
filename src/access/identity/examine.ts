/** Whether access tokens of the issuer in `OIDC_ISSUER` can be verified, for `earshot doctor`. */
import type { Config } from '../../kernel/config.ts'
import { oneLine } from '../../platform/lifecycle/start-error.ts'
import { createKeySet, OIDC_ALGORITHMS } from './tokens.ts'

/** Asks for the key set. @returns null if the service makes the tokens itself */
export async function examineTokens({
  oidc,
}: Pick<Config, 'oidc'>): Promise<{ readonly ok: boolean; readonly detail: string } | null> {
  if (oidc === null) return null
  const server = `the key set at ${new URL(oidc.jwksUrl).host}`
  const { createLocalJWKSet, errors } = await import('jose')
  try {
    const keySet = await createKeySet(oidc)
    await keySet.reload()
    const keys = keySet.jwks()?.keys ?? []
    const usable = await Promise.all(keys.map((key) => isUsable(createLocalJWKSet({ keys: [key] }))))
    const count = usable.filter(Boolean).length
    if (count > 0) return { ok: true, detail: `${server} with ${count} ${count === 1 ? 'key' : 'keys'}` }
    const remedy = 'Correct OIDC_JWKS_URL, or let the issuer sign with such a key'
    return { ok: false, detail: `${server} has no public key for ${OIDC_ALGORITHMS.join(', ')}. ${remedy}` }
  } catch (error) {
    const isAnswered = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout)
    const problem = isAnswered
      ? 'is none. Correct OIDC_JWKS_URL'
      : 'cannot be read. Start its server, or correct OIDC_JWKS_URL'
    return { ok: false, detail: `${server} ${problem} (${oneLine(error)})` }
  }
}

/** Whether the set, which has one key, verifies what some algorithm has signed. */
async function isUsable(set: (header: { readonly alg: string }) => Promise<unknown>): Promise<boolean> {
  const found = await Promise.allSettled(OIDC_ALGORITHMS.map((alg) => set({ alg })))
  return found.some(({ status }) => status === 'fulfilled')
}
