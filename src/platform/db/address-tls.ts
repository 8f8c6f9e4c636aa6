/** The parameters of TLS in a PostgreSQL URL, with the meaning that libpq gives them (PostgreSQL documentation, "SSL Support"). */

const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/** What a value must be. It is never repeated. */
export interface Refused {
  readonly refused: string
}

export interface Tls {
  readonly mode: (typeof TLS_MODES)[number]
  /** Paths of PEM files. Null: the authorities that this process trusts, or no certificate of the client. */
  readonly authority: string | null
  readonly certificate: string | null
  readonly key: string | null
  /** Of the key. */
  readonly password: string | null
}

/** @param parameter the value of a parameter, or null */
export function readTls(parameter: (name: string) => string | null): Tls | Refused {
  const mode = parameter('sslmode') ?? 'disable'
  const rootCertificate = parameter('sslrootcert')
  const [certificate, key, password] = ['sslcert', 'sslkey', 'sslpassword'].map(parameter) as [
    string | null,
    string | null,
    string | null,
  ]
  const found = TLS_MODES.find((one) => one === mode)
  if (found === undefined) return { refused: `a URL with sslmode=${TLS_MODES.join(', ')}` }
  if ((certificate === null) !== (key === null))
    return { refused: 'a URL with both of sslcert and sslkey, or none of them' }
  const isOptional = found === 'disable' || found === 'allow' || found === 'prefer'
  if (isOptional && (rootCertificate !== null || certificate !== null))
    return { refused: 'a URL with sslmode=require or stricter where it names certificates' }
  // The authorities of the system are those that this process trusts. libpq then wants the strictest mode, too.
  const isOfSystem = rootCertificate === 'system'
  return {
    mode: isOfSystem ? 'verify-full' : found,
    authority: isOfSystem ? null : rootCertificate,
    ...{ certificate, key, password },
  }
}
