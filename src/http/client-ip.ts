/**
 * Finds the client's IP address, for limits that count per client.
 *
 * A forwarding header is trusted only from a trusted proxy, and read from right to left, because each proxy appends the
 * address before it. The first address that is not a trusted proxy is the client. Addresses to its left may be forged.
 */
import ipaddr from 'ipaddr.js'

/** Whether an address is in one of the trusted CIDR blocks. */
export type IsTrusted = (address: string) => boolean

/** `cidrs` as in `TRUSTED_PROXIES`. @throws Error for an invalid block */
export function trustedProxies(cidrs: readonly string[]): IsTrusted {
  const blocks = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  return (text) => {
    const address = ipaddr.process(text)
    return blocks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
  }
}

/** The client's normalized address. `peer` is the address of the connection's other end; null if it is unknown. */
export function clientIp(peer: string | null, headers: Headers, isTrusted: IsTrusted): string | null {
  const connected = peer === null ? null : normalise(peer)
  if (connected === null || !isTrusted(connected)) return connected
  return firstUntrusted(connected, claims(headers), isTrusted)
}

/** The key to count under: the address, or for IPv6 its /64, which is the least that one customer gets (RFC 6177). */
export function countingKey(address: string): string {
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return address
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`
}

/** Reads from right to left, up to the first address that is not a trusted proxy or cannot be parsed. */
function firstUntrusted(peer: string, claimed: readonly string[], isTrusted: IsTrusted): string {
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
 * The addresses of `X-Forwarded-For` or `Forwarded` (RFC 7239). A proxy that writes one of them passes the other on as
 * the client sent it. If both are present and differ, neither can be trusted.
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
  // Only the dotted form with four parts, because `ipaddr.js` also parses `1` and `0x7f.1` as IPv4 addresses.
  const wellFormed = bare.includes(':') ? ipaddr.IPv6.isValid(bare) : ipaddr.IPv4.isValidFourPartDecimal(bare)
  if (!wellFormed) return null
  const address = ipaddr.process(bare)
  // A zone (`fe80::1%eth0`) is local to this machine and not part of the address.
  return address.toString().split('%', 1)[0] ?? null
}
