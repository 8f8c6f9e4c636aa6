/**
 * Names to addresses, for connections whose address is judged before they are made.
 *
 * The rule: DNS alone is asked, never the machine's own tables, and every address of both families is given. An answer is
 * used once and kept nowhere.
 */
import { Resolver } from 'node:dns/promises'

/** Every IPv4 address of the name, then every IPv6 one; at least one. @throws ResolveError */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export class ResolveError extends Error {
  override readonly name = 'ResolveError'

  constructor(
    message: string,
    /** false where the name has no address, and asking again gives the same. */
    readonly transient: boolean,
  ) {
    super(message)
  }
}

export interface ResolverOptions {
  /** `address:port` of DNS servers; those of the machine where absent. */
  readonly servers?: readonly string[]
  /** For the first try of each server; doubled after each. */
  readonly timeoutMs?: number
  readonly tries?: number
}

/** What a DNS server answers where it knows of no such name or no such address. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA', 'NOTFOUND', 'NODATA', 'EBADNAME'])

export function createResolve({ servers, timeoutMs = 3_000, tries = 3 }: ResolverOptions = {}): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted()
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers !== undefined) resolver.setServers([...servers])
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      signal.throwIfAborted()
      return addressesOf(name, answers)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/** One family that cannot be asked does not matter where the other has an address: nothing is connected to unjudged. */
function addressesOf(
  name: string,
  answers: readonly PromiseSettledResult<readonly string[]>[],
): readonly string[] {
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return [...new Set(found)]
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [codeOf(answer.reason)] : []))
  const transient = codes.find((code) => !NOTHING.has(code))
  throw transient === undefined
    ? new ResolveError(`${name} has no address`, false)
    : new ResolveError(`${name} could not be resolved: ${transient}`, true)
}

const codeOf = (error: unknown) => String((error as { readonly code?: unknown } | null)?.code)
