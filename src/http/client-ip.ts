/**
 * Which machine a request comes from, for limits that count per client.
 *
 * The rule: a forwarding header is a claim, believed only from a trusted proxy and read from the right, each address
 * being the word of the proxy after it. The first address that is not a trusted proxy's is the client; what stands to
 * the left of it is the client's own invention.
 */
import ipaddr from 'ipaddr.js'

/** Decides whether an address is in one of the trusted CIDR blocks. */
export type IsTrusted = (address: string) => boolean

/** `cidrs` as in `TRUSTED_PROXIES`. @throws Error for a block that is not one */
export function trustedProxies(cidrs: readonly string[]): IsTrusted {
  const blocks = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  return (text) => {
    const address = ipaddr.process(text)
    return blocks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
  }
}

/** The client's address in its normal form, given the address of the connection's other end; null where that is unknown. */
export function clientIp(peer: string | null, headers: Headers, isTrusted: IsTrusted): string | null {
  const connected = peer === null ? null : normalise(peer)
  if (connected === null || !isTrusted(connected)) return connected
  return walk(connected, claims(headers), isTrusted)
}

/** What to count under: the address, for IPv6 its /64, which is the least that one customer is given (RFC 6177). */
export function countingKey(address: string): string {
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return address
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`
}

/** From right to left, to the first address that is not a proxy's, or to the last one that can be read. */
function walk(peer: string, claimed: readonly string[], isTrusted: IsTrusted): string {
  let client = peer
  for (const text of claimed.toReversed()) {
    const address = normalise(text)
    if (address === null) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

/**
 * The addresses of `X-Forwarded-For` or of `Forwarded` (RFC 7239). A proxy that writes the one lets the other pass as the
 * client sent it, so where both are present and differ it cannot be told which to believe, and neither is.
 */
function claims(headers: Headers): readonly string[] {
  const traditional = list(headers.get('x-forwarded-for'))
  const standard = list(headers.get('forwarded')).map(forwardedFor)
  if (standard.length === 0) return traditional
  if (traditional.length === 0) return standard
  const same = standard.map(normalise).join() === traditional.map(normalise).join()
  return same ? standard : []
}

function list(header: string | null): string[] {
  return header === null ? [] : header.split(',').map((part) => part.trim())
}

/** The `for` parameter of one element: `for="[2001:db8::1]:4711";proto=https`. */
function forwardedFor(element: string): string {
  const parameter = element.split(';').find((pair) => /^\s*for\s*=/i.test(pair)) ?? ''
  return parameter
    .slice(parameter.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')
}

/** `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`, `::ffff:192.0.2.1` → the plain address; null for anything else. */
function normalise(text: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, '$1')
  // Only the dotted form with four parts: `ipaddr.js` would also read `1` and `0x7f.1` as IPv4 addresses.
  const wellFormed = bare.includes(':') ? ipaddr.IPv6.isValid(bare) : ipaddr.IPv4.isValidFourPartDecimal(bare)
  if (!wellFormed) return null
  const address = ipaddr.process(bare)
  // A zone (`fe80::1%eth0`) is local to this machine and no part of the address.
  return address.toString().split('%', 1)[0] ?? null
}
