/**
 * Resolves names to addresses, for connections whose address is checked first.
 *
 * Names that customers give are resolved by DNS only, never by the machine's own tables, which name what is not public. Names of the
 * operator's settings are resolved as the machine does, with `/etc/hosts`. Both return all addresses of both families and cache nothing.
 */
import { lookup, Resolver } from 'node:dns/promises'

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

/** As the machine resolves names: for those that the operator has set. */
export function createSystemResolve(): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted()
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      // The system cannot be interrupted.
      const found = await Promise.race([lookup(name, { all: true }), aborted.promise])
      return [...new Set(found.map(({ address }) => address))]
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(name, [codeOf(error)])
    } finally {
      signal.removeEventListener('abort', abort)
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
  throw failureOf(name, codes)
}

function failureOf(name: string, codes: readonly string[]): ResolveError {
  const transient = codes.find((code) => !NOTHING.has(code))
  return transient === undefined
    ? new ResolveError(`${name} has no address`, false)
    : new ResolveError(`${name} could not be resolved: ${transient}`, true)
}

const codeOf = (error: unknown) => String((error as { readonly code?: unknown } | null)?.code)
