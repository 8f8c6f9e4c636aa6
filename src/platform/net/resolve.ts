/**
 * Resolves names to addresses, for connections whose address is checked first.
 *
 * It asks DNS only, never the machine's own tables, and returns all addresses of both families. Nothing is cached.
 */
import { Resolver } from 'node:dns/promises'

/** Every IPv4 address of the name, then every IPv6 one; at least one. @throws ResolveError */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

/** The name has no address, or no DNS server answered. */
export class ResolveError extends Error {
  override readonly name = 'ResolveError'

  constructor(
    message: string,
    /** False if the name has no address, so that a retry is useless. */
    readonly transient: boolean,
  ) {
    super(message)
  }
}

export interface ResolverOptions {
  /** `address:port` of DNS servers. Default: those of the machine. */
  readonly servers?: readonly string[]
  /** For the first try of each server, doubled after each try. */
  readonly timeoutMs?: number
  readonly tries?: number
}

/** Codes of a DNS server that knows no such name or address. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA', 'NOTFOUND', 'NODATA', 'EBADNAME'])

/** Each name has a resolver of its own, so that an aborted signal cancels its queries alone. */
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

/** A failed family does not matter if the other has an address, because every address is checked before use. */
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
