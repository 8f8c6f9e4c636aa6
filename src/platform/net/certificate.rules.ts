/** Errors about the certificate of a server, as Bun, its drivers and OpenSSL name them. */

const EXPIRED = 'Renew the certificate of the server, or set the clock of this machine.'
const OTHER_NAME = 'Write the host as it stands in the certificate of the server.'
const UNTRUSTED = 'Name a file with the certificate of its authority in NODE_EXTRA_CA_CERTS.'

/** By code (OpenSSL, verify(1)). */
const REMEDIES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: EXPIRED,
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
}

/** By message, for libraries that put a code of their own in the place. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/certificate has expired|certificate is not yet valid/i, EXPIRED],
  [/altnames|hostname\/ip does not match/i, OTHER_NAME],
  [/self[- ]signed certificate|unable to (?:verify the first|get (?:local )?issuer) certificate/i, UNTRUSTED],
]

/** What an operator does about a certificate that was not accepted, as a sentence. Null for any other error. */
export function certificateRemedy(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null
  const { code, message }: { readonly code?: unknown; readonly message?: unknown } = error
  if (typeof code === 'string' && Object.hasOwn(REMEDIES, code)) return REMEDIES[code] ?? null
  return MESSAGES.find(([pattern]) => pattern.test(String(message)))?.[1] ?? null
}
